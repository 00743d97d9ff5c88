import { BroadcastChannel, type WorkerOptions } from 'node:worker_threads'
import { afterAll, expect, test, vi } from 'vitest'
import { ask, startReplica } from '../../helpers/replica.ts'

// Nothing that a configuration can hold makes a worker hang; so the workers here also take the order to do so.
vi.mock('node:worker_threads', async original => {
  const threads = await original<typeof import('node:worker_threads')>()
  class ObedientWorker extends threads.Worker {
    constructor(_entry: URL, options: WorkerOptions) {
      super(new URL('../../helpers/hanging-worker.ts', import.meta.url), options)
    }
  }
  return { ...threads, Worker: ObedientWorker }
})

const orders = new BroadcastChannel('gwctl-test-hang')
afterAll(() => orders.close())

const reply = (body: string) =>
  `binds: [{port: 80, listeners: [{routes: [{policies: {directResponse: {status: 200, body: ${body}}}}]}]}]\n`

test('workers that hang are told of, keep nobody waiting, and are replaced by a reload', async () => {
  await using replica = await startReplica(reply('one'), 2)
  orders.postMessage(1)
  await replica.says('a worker does not respond')
  expect(await replica.said('a worker does not respond')).toEqual([
    expect.stringMatching(/\terror\tgateway\ta worker does not respond\tworker=1 seconds=\d+$/),
  ])
  expect(await replica.metrics()).toMatch(/^agentgateway_workers 1$/m)
  const { threads } = JSON.parse((await replica.admin('/debug/tasks')).body)
  expect(threads[2]).toEqual({ thread: 'worker 1', workload: {}, silent: true, silentFor: expect.any(Number) })
  expect(threads[2].silentFor).toBeGreaterThanOrEqual(5000)
  expect((await replica.admin('/healthz/ready')).status).toBe(200)
  expect((await replica.admin('/debug/trace?follow=1&seconds=1')).body).toContain('event: end')

  orders.postMessage(0)
  await expect
    .poll(() => replica.admin('/healthz/ready'))
    .toEqual({ status: 500, body: 'not ready, pending: workers\n' })

  replica.write(reply('two'))
  expect(await replica.serving.reload()).toBe(true)
  await expect.poll(() => replica.said('it hung during a reload')).toHaveLength(2)
  await expect.poll(() => replica.admin('/healthz/ready')).toEqual({ status: 200, body: 'ready\n' })
  expect((await ask({ port: replica.port(80) })).body).toBe('two')
})

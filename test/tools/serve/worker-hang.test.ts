import { BroadcastChannel, type WorkerOptions } from 'node:worker_threads'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
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
beforeAll(() => {
  // Time goes on by itself, and faster where the test says so.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true })
})
afterAll(() => {
  orders.close()
  vi.useRealTimers()
})

/** Resolves when all of them stand still. */
function hang(...indexes: readonly number[]): Promise<void> {
  const awaited = new Set(indexes)
  return new Promise(resolve => {
    orders.onmessage = ({ data }) => {
      awaited.delete((data as { readonly hangs: number }).hangs)
      if (awaited.size === 0) resolve()
    }
    for (const index of indexes) orders.postMessage(index)
  })
}

const reply = (body: string) =>
  `binds: [{port: 80, listeners: [{routes: [{policies: {directResponse: {status: 200, body: ${body}}}}]}]}]\n`

test('hung workers are reported, block nothing and are replaced by a reload', async () => {
  await using replica = await startReplica(reply('one'), 2)
  await hang(0, 1)
  vi.advanceTimersByTime(6000)
  await expect.poll(() => replica.said('a worker does not respond')).toHaveLength(2)
  const lines = await replica.said('a worker does not respond')
  expect(lines.map(line => line.slice(line.indexOf('\t'))).toSorted()).toEqual([
    expect.stringMatching(/^\terror\tgateway\ta worker does not respond\tworker=0 seconds=\d+$/),
    expect.stringMatching(/^\terror\tgateway\ta worker does not respond\tworker=1 seconds=\d+$/),
  ])
  expect(await replica.metrics()).toMatch(/^agentgateway_workers 0$/m)
  expect(await replica.admin('/healthz/ready')).toEqual({ status: 500, body: 'not ready, pending: workers\n' })
  const { threads } = JSON.parse((await replica.admin('/debug/tasks')).body)
  expect(threads[2]).toEqual({ thread: 'worker 1', workload: {}, silent: true, silentFor: expect.any(Number) })
  expect(threads[2].silentFor).toBeGreaterThanOrEqual(5000)
  expect((await replica.admin('/debug/trace?follow=1&seconds=1')).body).toContain('event: end')

  replica.write(reply('two'))
  expect(await replica.serving.reload()).toBe(true)
  await replica.says('it hung during a reload')
  await expect.poll(() => replica.admin('/healthz/ready')).toEqual({ status: 200, body: 'ready\n' })
  await expect.poll(() => ask({ port: replica.port(80) }).then(({ body }) => body, String)).toBe('two')
})

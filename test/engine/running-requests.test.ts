import { expect, test } from 'vitest'
import { systemClock } from '../../src/engine/clock.ts'
import { startGateway } from '../helpers/gateway.ts'
import { echo, startUpstream } from '../helpers/upstream.ts'

test('a request waiting for its upstream is listed with step, age and config line, but no query', async () => {
  const arrived = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  await using upstream = await startUpstream(async (_, res) => {
    arrived.resolve()
    await answer.promise
    res.end('late')
  })
  await using gateway = await startGateway(`
gateways: {default: {port: 8080}}
routes:
- backends:
  - host: '${upstream.host}'
`)
  const reply = fetch(`${gateway.url(8080)}/slow?key=secret`)
  await arrived.promise
  const { requests, total } = gateway.gateway.running.report({ ...systemClock, mono: () => systemClock.mono() + 5000 })
  expect(total).toBe(1)
  expect(requests[0]).toMatchObject({
    method: 'GET',
    path: '/slow',
    step: `waiting for ${upstream.host}`,
    at: 'test.yaml:5',
  })
  expect(requests[0]?.age).toBeGreaterThanOrEqual(5000)
  answer.resolve()
  expect(await (await reply).text()).toBe('late')
  await expect.poll(() => gateway.gateway.running.size).toBe(0)
})

test('a request waiting in a policy is listed with the policy and its line', async () => {
  await using upstream = await startUpstream(echo)
  await using gateway = await startGateway(`
gateways: {default: {port: 8080}}
routes:
- policies:
    delay: {duration: '"1h"'}
  backends: [{host: '${upstream.host}'}]
`)
  const leave = new AbortController()
  const reply = fetch(gateway.url(8080), { signal: leave.signal })
  const running = () => gateway.gateway.running.report(systemClock).requests
  await expect.poll(running).toMatchObject([{ step: 'in the policy delay', at: 'test.yaml:5' }])
  leave.abort()
  await expect(reply).rejects.toThrow('abort')
  await expect.poll(running).toEqual([])
})

import { expect, test } from 'vitest'
import { delay } from '../../src/policies/delay.ts'
import { compile, createWorld, exchange, hooksOf } from './policy-fixture.ts'

test.each([
  ['2s', 2000],
  ['"1m"', 60_000],
  ['250', 250],
  ['duration("1s")', 1000],
  ['int(request.headers["x-ms"])', 75],
  ['"9000h"', 2 ** 31 - 1],
])('%s delays the request by %i ms', async (duration, ms) => {
  const world = createWorld()
  const hooks = hooksOf(delay, { duration }, world)
  let over = false
  const waiting = Promise.resolve(hooks.request!(exchange({ headers: ['x-ms', '75'] }))).then(() => {
    over = true
  })
  world.clock.advance(ms - 1)
  await Promise.resolve()
  expect(over).toBe(false)
  world.clock.advance(1)
  await waiting
  expect(over).toBe(true)
})

test.each(['0s', '-5', 'request.method', 'request.headers["x-none"]', 'request.startTime'])(
  '%s adds no delay',
  duration => {
    expect(hooksOf(delay, { duration }).request!(exchange())).toBeUndefined()
  },
)

test('a client disconnect ends the delay and its timer', async () => {
  const world = createWorld()
  const x = exchange()
  const waiting = hooksOf(delay, { duration: '1h' }, world).request!(x)
  expect(world.clock.pending).toBe(1)
  x.abort()
  await waiting
  expect(world.clock.pending).toBe(0)
})

test.each([
  [{}, 'GW103'],
  [{ duration: 5 }, 'GW101'],
  [{ duration: '2 sec' }, 'GW301'],
  [{ duration: 'true' }, 'GW302'],
])('%j is rejected', (bad, finding) => {
  expect(compile(delay, bad).findings).toEqual([expect.stringContaining(finding)])
})

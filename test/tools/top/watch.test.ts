import { expect, test } from 'vitest'
import { Failure } from '../../../src/diagnostics/failure.ts'
import { adminServerAt } from '../../../src/tools/admin/admin-client.ts'
import { measuredRates, watchGateway, watchMetrics } from '../../../src/tools/top/watch.ts'
import { ManualClock } from '../../engine/manual-clock.ts'
import { startSilentServer } from '../../helpers/silent-server.ts'

const refused = () => Promise.reject(new Failure('unreachable', 'connection refused'))
const metrics = (requests: number) => Promise.resolve(`agentgateway_requests_total{status="200"} ${requests}\n`)
type Read = (signal: AbortSignal) => Promise<string>

/** Looks at what `answers` give one after the other; `pass` lets time go by once somebody waits for it. */
function watching(...answers: readonly Read[]) {
  const clock = new ManualClock()
  const stop = new AbortController()
  let turn = 0
  const read: Read = signal => (answers[turn++] as Read)(signal)
  const looks = watchMetrics(read, { interval: 2000, first: 1000, clock }, stop.signal)
  const pass = async (ms: number) => {
    await expect.poll(() => clock.pending, { interval: 1 }).toBeGreaterThan(0)
    clock.advance(ms)
  }
  return { looks, stop, pass }
}

test('takes the second sample early and the others at the interval', async () => {
  const { looks, pass } = watching(
    () => metrics(1),
    () => metrics(2),
    () => metrics(3),
  )
  const first = (await looks.next()).value
  let next = looks.next()
  await pass(1000)
  const second = (await next).value
  next = looks.next()
  await pass(2000)
  const third = (await next).value
  expect([second.at - first.at, third.at - second.at]).toEqual([1000, 2000])
})

test('a failed first sample is an error, a later one is shown as lost', async () => {
  await expect(watching(refused).looks.next()).rejects.toMatchObject({ kind: 'unreachable' })
  const { looks, pass } = watching(
    () => metrics(1),
    refused,
    () => metrics(2),
  )
  await looks.next()
  let next = looks.next()
  await pass(1000)
  expect((await next).value).toMatchObject({ lost: { message: 'connection refused' } })
  next = looks.next()
  await pass(2000)
  expect((await next).value).toHaveProperty('samples')
})

test.each([
  [undefined, 5000],
  [300, 300],
])('a missing response times out: patience %s', async (patience, ms) => {
  await using server = await startSilentServer()
  const admin = adminServerAt(new URL(`http://${server.address}`))
  const clock = new ManualClock()
  const first = watchGateway(patience === undefined ? admin : { ...admin, patience }, { interval: 2000, clock }).next()
  const refused = expect(first).rejects.toMatchObject({ kind: 'timeout' })
  await expect.poll(() => clock.pending).toBe(1)
  clock.advance(ms - 1)
  expect(clock.pending).toBe(1)
  clock.advance(1)
  await refused
})

test('stopping while waiting reports the reason', async () => {
  const { looks, stop } = watching(() => metrics(1))
  await looks.next()
  const next = looks.next()
  stop.abort(new Failure('terminated', 'stopped by SIGTERM'))
  await expect(next).rejects.toMatchObject({ kind: 'terminated' })
})

test('machine output has rates from the second sample and fails when the gateway is lost', async () => {
  const { looks, pass } = watching(
    () => metrics(10),
    () => metrics(30),
    refused,
  )
  const rates = measuredRates(looks)
  let next = rates.next()
  await pass(1000)
  expect((await next).value).toMatchObject({ time: '2026-01-15T12:30:46.250Z', total: { requests: 20 } })
  next = rates.next()
  await pass(2000)
  await expect(next).rejects.toMatchObject({ kind: 'unreachable' })
})

import { expect, test } from 'vitest'
import { Failure } from '../../../src/diagnostics/failure.ts'
import { ExpositionReader } from '../../../src/tools/top/exposition.ts'
import { addLook, EMPTY, type Look, TOTAL, type TopState, uptimeOf } from '../../../src/tools/top/state.ts'

const exposition = new ExpositionReader()
/** A look at `second`, at a gateway that started at `started` and has answered so many requests since. */
function seen(second: number, requests: number, started = -100): Look {
  const text = `process_start_time_seconds ${started}\nagentgateway_requests_total{route="r",status="200"} ${requests}\n`
  return { at: second * 1000, time: second * 1000, samples: exposition.read(text) }
}
const lost = (second: number): Look => ({ at: second * 1000, lost: new Failure('unreachable', 'connection refused') })
const stateAfter = (...looks: readonly Look[]): TopState => looks.reduce(addLook, EMPTY)
const rate = (state: TopState) => state.rates?.total.requests

test('the first sample shows rows without rates', () => {
  const state = stateAfter(seen(0, 1000))
  expect(state).toMatchObject({ measured: false, lost: undefined })
  expect(state.rates?.routes).toMatchObject([{ name: 'r', requests: 0 }])
  expect(uptimeOf(state)).toBe(100)
})

test('rates use the time actually elapsed', () => {
  expect(rate(stateAfter(seen(0, 10), seen(4, 50)))).toBe(10)
})

test('a lost gateway keeps its rates and the time of the last sample', () => {
  const state = stateAfter(seen(0, 0), seen(2, 10), lost(4), lost(6))
  expect(state.lost).toEqual({ text: 'connection refused', since: 2000, at: 6000 })
  expect(rate(state)).toBe(5)
})

test('after a reconnect, requests are spread over the gap', () => {
  const state = stateAfter(seen(0, 0), seen(2, 10), lost(4), seen(12, 110))
  expect(state).toMatchObject({ lost: undefined, restarted: false })
  expect(rate(state)).toBe(10)
})

test('after a restart, rates are never negative and count from the start', () => {
  const state = stateAfter(seen(0, 0), seen(2, 1000), lost(4), seen(10, 30, 7))
  expect(rate(state)).toBe(10)
  expect(state.restarted).toBe(true)
  expect(uptimeOf(state)).toBe(3)
})

test('detects a restart even if the counter has already passed its old value', () => {
  expect(rate(stateAfter(seen(0, 0), seen(2, 10), seen(4, 50, 3)))).toBe(50)
})

test('tolerates a wrong gateway clock', () => {
  const state = stateAfter(seen(0, 0), seen(2, 10), seen(4, 50, 500))
  expect(rate(state)).toBe(25)
  expect(uptimeOf(state)).toBe(0)
})

test('the history has a gap for failed samples', () => {
  const state = stateAfter(seen(0, 0), seen(2, 10), lost(4), seen(6, 10), seen(8, 30))
  expect(state.history.get(TOTAL)).toEqual([5, undefined, 0, 10])
  expect(state.history.get('routes r')).toEqual([5, undefined, 0, 10])
})

test('only the most recent history is kept', () => {
  const looks = Array.from({ length: 1000 }, (_, i) => seen(i, i))
  expect(stateAfter(...looks).history.get(TOTAL)?.length).toBeLessThan(200)
})

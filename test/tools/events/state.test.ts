import { expect, test } from 'vitest'
import { addEvents, decidingStep, EMPTY } from '../../../src/tools/events/state.ts'
import { Recorder } from './recorded-events.ts'

test('separates interleaved requests in the order they started', () => {
  const recorder = new Recorder()
  recorder.start('a', '/a?x=1')
  recorder.start('b', '/b')
  recorder.add({ type: 'listener', bind: 'x', listener: 'l' }, { request: 'b' })
  recorder.finish('a', 200, 1500)
  const state = addEvents(EMPTY, recorder.events)
  expect(state.requests.map(({ id, path, steps, end }) => ({ id, path, steps: steps.length, end }))).toEqual([
    { id: 'a', path: '/a?x=1', steps: 2, end: { status: 200, at: 1500, error: undefined } },
    { id: 'b', path: '/b', steps: 2, end: undefined },
  ])
})

test('batches of any size give the same state, and earlier states are not mutated', () => {
  const recorder = new Recorder()
  for (const request of ['a', 'b', 'c']) recorder.refused(request)
  const { events } = recorder
  const whole = addEvents(EMPTY, events)
  let state = EMPTY
  const first = addEvents(EMPTY, events.slice(0, 1))
  for (const event of events) state = addEvents(state, [event])
  expect(state).toEqual(whole)
  expect(first.requests[0]?.steps).toHaveLength(1)
})

test('a request whose start was missed is still shown', () => {
  const recorder = new Recorder()
  recorder.finish('r9', 502)
  expect(addEvents(EMPTY, recorder.events).requests).toMatchObject([
    { id: 'r9', path: 'request r9', end: { status: 502 } },
  ])
})

test('requests of two workers with the same id are kept apart', () => {
  const recorder = new Recorder()
  recorder.start('r1')
  const [event] = recorder.events
  expect(addEvents(EMPTY, [event!, { ...event!, worker: 1 }]).requests).toHaveLength(2)
})

test('counts lost events', () => {
  const recorder = new Recorder()
  recorder.start()
  recorder.add({ type: 'dropped', count: 12 })
  expect(addEvents(EMPTY, recorder.events).requests[0]?.lost).toBe(12)
})

test('bounds memory by dropping the oldest requests and middle events, and counts both', () => {
  const recorder = new Recorder()
  for (let i = 0; i < 1010; i++) recorder.start(`r${i}`)
  const many = addEvents(EMPTY, recorder.events)
  expect(many.requests).toHaveLength(1000)
  expect(many.forgotten).toBe(10)
  expect(many.requests[0]?.id).toBe('r10')

  const long = new Recorder()
  long.start()
  for (let i = 0; i < 5010; i++) long.add({ type: 'cel', expression: 'x' })
  long.finish()
  const [request] = addEvents(EMPTY, long.events).requests
  expect(request).toMatchObject({ lost: 11, end: { status: 200 } })
  expect(request?.steps).toHaveLength(5001)
})

test('finds the step that explains the outcome', () => {
  const recorder = new Recorder()
  recorder.refused()
  const [request] = addEvents(EMPTY, recorder.events).requests
  expect(decidingStep(request!)?.label).toBe('authorization')
  const [running] = addEvents(EMPTY, recorder.events.slice(0, 3)).requests
  expect(decidingStep(running!)?.label).toBe('route')

  // A retry that helped explains nothing.
  const retried = new Recorder()
  retried.start()
  retried.add({ type: 'callEnd', target: 'a:80', status: 503 }, { severity: 'error' })
  retried.finish()
  expect(decidingStep(addEvents(EMPTY, retried.events).requests[0]!)?.label).toBe('response')
})

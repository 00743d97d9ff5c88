import { expect, test } from 'vitest'
import { timelineDocument } from '../../../src/tools/events/timeline.ts'
import { Recorder } from './recorded-events.ts'

interface Shown {
  readonly ph: string
  readonly name: string
  readonly pid: number
  readonly tid: number
  readonly ts: number
  readonly dur: number
  readonly args: Readonly<Record<string, unknown>>
}

/** What stands in the rows of a viewer: their titles, and what they hold. */
async function rowsOf({ texts }: Recorder) {
  const recording = {
    texts: (async function* () {
      yield* texts
    })(),
    name: 'test',
    close: () => {},
  }
  const { text, requests } = await timelineDocument(recording, () => {})
  const events = (JSON.parse(text) as { traceEvents: Shown[] }).traceEvents
  const titles = events.filter(({ name }) => name === 'thread_name')
  const rows = titles.map(({ tid, args }) => ({
    title: args.name,
    slices: events.filter(event => event.tid === tid && event.ph === 'X'),
    marks: events.filter(event => event.tid === tid && event.ph === 'i'),
  }))
  return { rows, requests, events }
}

/** Perfetto drops what begins within something and ends after it. */
function expectNested(slices: readonly Shown[]): void {
  for (const a of slices) {
    for (const b of slices) {
      const overlap = a.ts < b.ts && b.ts < a.ts + a.dur && b.ts + b.dur > a.ts + a.dur
      expect(overlap, `${a.name} and ${b.name}`).toBe(false)
    }
  }
}

test('has a row per request with its status, nested steps, texts and config lines', async () => {
  const recorder = new Recorder()
  recorder.refused()
  const { rows, events } = await rowsOf(recorder)
  expect(rows.map(({ title }) => title)).toEqual(['POST /v1/chat: 403'])
  const [{ slices, marks }] = rows as [(typeof rows)[0]]
  expect(slices.map(({ name, dur }) => [name, dur])).toEqual([
    ['POST /v1/chat', 4100],
    ['answer', 1250],
  ])
  expect(marks.find(({ name }) => name === 'authorization')?.args).toMatchObject({
    text: expect.stringContaining('deny jwt.roles'),
    severity: 'error',
    at: ['conf/gateway.yaml:52'],
  })
  expect(slices[0]?.ts).toBe(Date.parse('2026-01-15T12:30:45.250Z') * 1000)
  expect(events.find(({ name }) => name === 'process_name')?.args).toEqual({ name: 'worker' })
})

test('concurrent calls get a separate row', async () => {
  const recorder = new Recorder()
  recorder.start()
  const call = (target: string, from: number, at: number) =>
    recorder.add({ type: 'callEnd', target, status: 200 }, { from, at })
  call('first', 100, 500)
  call('second', 300, 900)
  call('within', 320, 400)
  call('third', 450, 800)
  recorder.finish('r1', 200, 1000)
  const { rows } = await rowsOf(recorder)
  expect(rows.map(({ title, slices }) => [title, slices.map(({ args, name }) => args.text ?? name)])).toEqual([
    ['POST /v1/chat: 200', ['POST /v1/chat', 'first: 200', 'within: 200']],
    ['POST /v1/chat: 200 (beside it)', ['second: 200', 'third: 200']],
  ])
  for (const { slices } of rows) expectNested(slices)
})

test('orders requests by start time', async () => {
  const recorder = new Recorder()
  const start = (request: string, second: number) =>
    recorder.add(
      {
        type: 'requestStarted',
        method: 'GET',
        url: `http://h/${request}`,
        source: 's',
        time: `2026-01-15T12:30:0${second}Z`,
      },
      { request },
    )
  start('slow', 1)
  start('fast', 2)
  recorder.finish('fast')
  recorder.finish('slow')
  const { rows, events, requests } = await rowsOf(recorder)
  expect(requests).toBe(2)
  expect(rows.map(({ title }) => title)).toEqual(['GET /slow: 200', 'GET /fast: 200'])
  expect(events.filter(({ name }) => name === 'thread_sort_index').map(({ args }) => args.sort_index)).toEqual([1, 2])
})

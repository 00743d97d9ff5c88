import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { adminServerAt } from '../../../src/tools/admin/admin-client.ts'
import { openLastingTrace } from '../../../src/tools/events/lasting-trace.ts'
import { ManualClock } from '../../engine/manual-clock.ts'
import { Recorder } from './recorded-events.ts'

const at = (served: { readonly port: number }) => adminServerAt(new URL(`http://127.0.0.1:${served.port}`))

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

/** An admin server that answers each trace as the next of `answers` says. */
async function answering(...answers: ((response: ServerResponse) => void)[]) {
  const asked: URLSearchParams[] = []
  const server = createServer((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://h').searchParams)
    const answer = answers.shift()
    if (answer === undefined) response.destroy()
    else answer(response)
  }).listen(0, '127.0.0.1')
  stops.push(
    () => server.closeAllConnections(),
    () => server.close(),
  )
  await new Promise(resolve => server.once('listening', resolve))
  return { asked, port: (server.address() as AddressInfo).port }
}

/** A stream with these events, and then what `end` does to it. */
function stream(record: (recorder: Recorder) => void, end: (response: ServerResponse) => void) {
  return (response: ServerResponse) => {
    const recorder = new Recorder()
    record(recorder)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`: ready\n\n${recorder.texts.map(text => `data: ${text}\n\n`).join('')}`, () => end(response))
  }
}
const refusing = (recorder: Recorder) => recorder.refused()
const ended = (reason: string) => (response: ServerResponse) =>
  void response.end(`event: end\ndata: {"reason":"${reason}"}\n\n`)
const broken = (response: ServerResponse) => void response.destroy()

/** A clock that goes on by itself whenever somebody waits. */
class EagerClock extends ManualClock {
  readonly waits: number[] = []

  override after(ms: number, then: () => void) {
    const timer = super.after(ms, then)
    // A gateway may be silent for long.
    if (ms > 2000) return timer
    this.waits.push(ms)
    setImmediate(() => this.advance(ms))
    return timer
  }
}

async function traced(
  served: { readonly port: number },
  requests: number,
  clock: ManualClock = new EagerClock(),
  seconds = 5,
) {
  const trace = await openLastingTrace(at(served), { expression: 'true', follow: { requests, seconds } }, clock)
  const links: string[] = []
  trace.link.onChange = () => links.push(trace.link.lost?.message ?? 'back')
  return { trace, links }
}

/** The kinds of all messages, and how it ended. */
async function all({ trace }: Awaited<ReturnType<typeof traced>>) {
  const types: string[] = []
  for (;;) {
    const next = await trace.events.next()
    if (next.done === true) return { types, end: next.value }
    types.push((JSON.parse(next.value) as { message: { type: string } }).message.type)
  }
}

test('a gateway that comes back is asked for the remaining requests with the same expression', async () => {
  const served = await answering(
    stream(refusing, broken),
    response => response.destroy(),
    response => response.writeHead(503).end(),
    stream(recorder => recorder.start(), ended('shutdown')),
    stream(refusing, ended('requests')),
  )
  const opened = await traced(served, 5)
  const { types, end } = await all(opened)
  expect(end).toBe('requests')
  expect(types.filter(type => type === 'requestStarted')).toHaveLength(3)
  expect(served.asked.map(query => query.get('follow'))).toEqual(['5', '4', '4', '4', '3'])
  expect(new Set(served.asked.map(query => query.get('expression')))).toEqual(new Set(['true']))
  expect(opened.links).toEqual([
    expect.stringContaining('broke'),
    'back',
    expect.stringContaining('is shutting down'),
    'back',
  ])
})

test('a lost connection is a failure if no requests remain', async () => {
  const served = await answering(stream(recorder => recorder.start(), broken))
  await expect(all(await traced(served, 1))).rejects.toMatchObject({ kind: 'unreachable' })
  expect(served.asked).toHaveLength(1)
})

test('a single request cannot pass itself off as several', async () => {
  const disguised = (recorder: Recorder) => {
    recorder.start('r1', '/"type":"requestStarted"', 'requestStarted')
    recorder.add({ type: 'cel', expression: 'x', result: { type: 'requestStarted' } })
  }
  const served = await answering(
    stream(disguised, broken),
    stream(() => {}, ended('time')),
  )
  await all(await traced(served, 2))
  expect(served.asked.map(query => query.get('follow'))).toEqual(['2', '1'])
})

test('a restarted gateway that rejects the expression ends the trace with its message', async () => {
  const served = await answering(stream(refusing, broken), response => response.writeHead(400).end('no such variable'))
  await expect(all(await traced(served, 9))).rejects.toMatchObject({ kind: 'usage', message: 'no such variable' })
})

test('time keeps running while retrying with increasing delays', async () => {
  const served = await answering(stream(refusing, broken))
  const clock = new EagerClock()
  const { end } = await all(await traced(served, 9, clock))
  expect(end).toBe('time')
  expect(clock.waits).toEqual([250, 500, 1000, 2000, 1250])
  expect(served.asked.map(query => query.get('seconds'))).toEqual(['5', '5', '5', '4', '2'])
})

test('closing while waiting ends the trace', async () => {
  const served = await answering(stream(refusing, broken))
  const clock = new ManualClock()
  const opened = await traced(served, 9, clock)
  opened.trace.link.onChange = () => setImmediate(() => opened.trace.close())
  expect((await all(opened)).end).toBe('requests')
  expect(clock.pending).toBe(0)
})

test('a gateway that goes silent is treated as lost', async () => {
  const served = await answering(
    stream(refusing, () => {}),
    stream(refusing, ended('requests')),
  )
  const clock = new EagerClock()
  const opened = await traced(served, 9, clock, 600)
  const first = await opened.trace.events.next()
  expect(first.done).toBe(false)
  const rest = all(opened)
  while (opened.links.length === 0) {
    await new Promise(setImmediate)
    clock.advance(1000)
  }
  expect(await rest).toMatchObject({ end: 'requests' })
  expect(opened.links).toEqual([expect.stringContaining('broke'), 'back'])
})

test('an unreachable gateway fails at once', async () => {
  const served = await answering()
  await expect(traced(served, 9)).rejects.toMatchObject({ kind: 'unreachable' })
})

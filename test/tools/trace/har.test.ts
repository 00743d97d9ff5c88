import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { Failure } from '../../../src/diagnostics/failure.ts'
import { harDocument } from '../../../src/tools/trace/har.ts'
import { Recorder } from '../events/recorded-events.ts'
import { HAR } from './har-schema.ts'

const isHar = new Ajv2020({ allErrors: true }).compile(HAR)

async function harOf({ texts }: { readonly texts: readonly string[] }, failure?: Error) {
  const recording = {
    texts: (async function* () {
      yield* texts
      if (failure) throw failure
    })(),
    name: 'test',
    close: () => {},
  }
  const { text, broken } = await harDocument(recording, '1.2.3', () => {})
  const har = JSON.parse(text)
  expect(isHar(har), JSON.stringify(isHar.errors)).toBe(true)
  return { entries: har.log.entries, creator: har.log.creator, broken }
}

const body = (stage: string, bytes: Buffer, truncated = false) =>
  ({ type: 'body', stage, bytes: bytes.length, base64: bytes.toString('base64'), truncated }) as const

function exchange(sent = body('initial request', Buffer.from('a=ü'))): Recorder {
  const recorder = new Recorder()
  recorder.start('r1', '/v1/chat?a=1&a=%20b')
  const state = {
    method: 'POST',
    url: 'http://api.example.com/v1/chat?a=1&a=%20b',
    headers: [
      ['authorization', '<redacted>'],
      ['Content-Type', 'text/plain'],
    ] as const,
  }
  recorder.add({ type: 'snapshot', stage: 'initial request', state })
  recorder.add(sent)
  recorder.add({ type: 'snapshot', stage: 'final request', state: { ...state, headers: [['x-added', '1']] } })
  recorder.add(body('final request', Buffer.from('rewritten')))
  const headers = [
    ['content-type', 'text/html'],
    ['Location', '/else'],
    ['set-cookie', '<redacted>'],
  ] as const
  recorder.add({ type: 'snapshot', stage: 'final response', state: { status: 302, headers } }, { at: 3000 })
  recorder.finish('r1', 302, 4500)
  return recorder
}

test('an entry has the client’s request and the response it received', async () => {
  const { entries, creator } = await harOf(exchange())
  expect(creator).toEqual({ name: 'gwctl', version: '1.2.3' })
  expect(entries).toHaveLength(1)
  const [{ startedDateTime, time, timings, request, response }] = entries
  expect({ startedDateTime, time }).toEqual({ startedDateTime: '2026-01-15T12:30:45.250Z', time: 4.5 })
  expect(timings).toMatchObject({ wait: 3, receive: 1.5 })
  expect(request).toMatchObject({
    method: 'POST',
    url: 'http://api.example.com/v1/chat?a=1&a=%20b',
    headers: [
      { name: 'authorization', value: '<redacted>' },
      { name: 'Content-Type', value: 'text/plain' },
    ],
    queryString: [
      { name: 'a', value: '1' },
      { name: 'a', value: ' b' },
    ],
    postData: { mimeType: 'text/plain', text: 'a=ü' },
    bodySize: 4,
  })
  expect(response).toMatchObject({
    status: 302,
    statusText: 'Found',
    content: { size: 21, mimeType: 'text/html' },
    redirectURL: '/else',
  })
  expect(response.cookies).toEqual([])
})

test('concurrent requests are separate entries in the order they ended', async () => {
  const recorder = new Recorder()
  recorder.start('a', '/a')
  recorder.start('b', '/b')
  recorder.finish('b', 200)
  recorder.add({ type: 'dropped', count: 7 }, { request: 'a' })
  recorder.finish('a', null)
  const { entries } = await harOf(recorder)
  expect(entries.map((entry: { request: { url: string } }) => new URL(entry.request.url).pathname)).toEqual([
    '/b',
    '/a',
  ])
  expect(entries[1]).toMatchObject({ response: { status: 0 }, comment: '7 events of the trace missing' })
})

test('an interrupted recording keeps what arrived and states why', async () => {
  const recorder = new Recorder()
  recorder.start('a', '/a')
  const lost = new Failure('unreachable', 'gone')
  const { entries, broken } = await harOf(recorder, lost)
  expect(broken).toBe(lost)
  expect(entries).toMatchObject([{ response: { status: 0 }, _gateway: { finished: false } }])
})

test('a recording that never started fails without a document', async () => {
  await expect(harOf({ texts: [] }, new Failure('input', 'no such file'))).rejects.toThrow('no such file')
})

test.each([
  ['binary data', body('initial request', Buffer.from([0xff, 0x00])), { text: '/wA=', comment: 'base64' }],
  ['only the beginning', body('initial request', Buffer.from('abc'), true), { text: 'abc', comment: /beginning/ }],
])('a body of %s is labelled as such', async (_, sent, { text, comment }) => {
  const { entries } = await harOf(exchange(sent))
  expect(entries[0].request.postData.text).toBe(text)
  expect(entries[0].request.postData.comment).toMatch(comment)
})

test.each<[string, string]>([
  ['an invalid URL', 'http://[broken/'],
  ['markup and control characters', 'http://h/<script>\u0007"\\'],
])('%s stays a string in a valid HAR document', async (_, url) => {
  const recorder = new Recorder()
  recorder.add({ type: 'requestStarted', method: 'GET', url, source: 's', time: '2026-01-15T12:30:45.250Z' })
  recorder.finish('r1')
  const { entries } = await harOf(recorder)
  expect(entries[0].request.url).toBe(url)
})

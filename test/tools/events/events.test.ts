import { describe, expect, test } from 'vitest'
import { createEventReader } from '../../../src/tools/events/events.ts'
import { addEvents, EMPTY } from '../../../src/tools/events/state.ts'
import { wordsOf } from '../../../src/tools/events/steps.ts'
import type { TraceMessage } from '../../../src/trace/trace-event.ts'
import { Recorder } from './recorded-events.ts'

const read = (value: unknown) => createEventReader().read(typeof value === 'string' ? value : JSON.stringify(value))

/** `rules`: mode, expression, and whether it matched. */
function authorization(result: 'allow' | 'deny', rules: readonly string[]): TraceMessage {
  const parts = rules.map(rule => rule.split(' '))
  return {
    type: 'authorization',
    result,
    rules: parts.map(([mode, rule, m]) => ({ mode, rule, matched: m === '+' })) as never,
  }
}

/** One of each kind, with the line that a person reads. */
const MESSAGES: readonly (readonly [TraceMessage, string])[] = [
  [{ type: 'listener', bind: 'bind/3000', listener: null }, 'listener: none on bind/3000'],
  [{ type: 'route', selected: null, tried: [{ route: 'a', failed: 'host' }] }, 'route: none matched of 1'],
  [{ type: 'snapshot', stage: 'cors', state: { status: 204, headers: [['a', 'b']] } }, 'snapshot: cors: 204, 1 header'],
  [{ type: 'policySelection', phase: 'route', policies: [] }, 'policies: route: none'],
  [
    { type: 'policy', policy: 'cors', phase: 'request', result: 'skipped', detail: 'no Origin' },
    'cors: skipped (request): no Origin',
  ],
  [{ type: 'cel', expression: 'a == 1', result: false }, 'cel: a == 1 → false'],
  [{ type: 'cel', expression: 'a.b', error: 'no such key' }, 'cel: a.b → no such key'],
  [{ type: 'authorization', result: 'deny', rules: [] }, 'authorization: deny'],
  ...(
    [
      ['deny', ['deny a +', 'allow b +'], 'deny: deny a'],
      ['deny', ['deny a -', 'require b -', 'allow c -'], 'deny: require b did not match'],
      ['deny', ['deny a -', 'require b +', 'allow c -'], 'deny: allow c did not match'],
      ['deny', ['allow a -', 'allow b -'], 'deny: none of 2 allow rules matched'],
      ['allow', ['deny a -', 'allow b -', 'allow c +'], 'allow: allow c'],
      ['allow', ['deny a -', 'require b +'], 'allow'],
    ] as const
  ).map(([result, rules, line]) => [authorization(result, rules), `authorization: ${line}`] as const),
  [{ type: 'backend', backend: 'openai', kind: 'ai', reason: 'weight 3 of 4' }, 'backend: openai (ai): weight 3 of 4'],
  [{ type: 'callStart', target: 'a:80', purpose: 'the request' }, 'call: a:80 for the request'],
  [{ type: 'callEnd', target: 'a:80', error: 'refused' }, 'answer: a:80: refused'],
  [{ type: 'callEnd', target: '/default/default/bind/3000/l/default/chat/b0', status: 404 }, 'answer: chat/b0: 404'],
  [{ type: 'callStart', target: 'chat@routes.0/extAuthz->routes.0.extAuthz', purpose: 'a' }, 'call: extAuthz for a'],
  [{ type: 'mcp', method: 'tools/call', name: 'search', target: 'docs' }, 'mcp: tools/call search at docs'],
  [{ type: 'llm', provider: 'p', model: 'm', streaming: true, inputTokens: 3 }, 'llm: p m, streaming, 3+? tokens'],
  [{ type: 'body', stage: 'request', bytes: 9, base64: 'aGk=', truncated: true }, 'body: request: 9 bytes, cut'],
  [{ type: 'requestFinished', status: null, bytes: 0 }, 'response: client left, 0 bytes'],
  [{ type: 'dropped', count: 7 }, 'lost: 7 events: the reader was too slow'],
]

test.each(MESSAGES)('%j', (message, line) => {
  const recorder = new Recorder()
  const sent = recorder.add(message, { scope: ['attempt 1'], from: 5, line: 4 })
  const event = recorder.events[0]!
  expect(event).toEqual({ ...sent, stream: 0 })
  const { label, text } = wordsOf(event)
  expect(`${label}: ${text}`).toBe(line)
})

describe('events from other sources', () => {
  const event = new Recorder().add({ type: 'dropped', count: 1 })

  test.each([
    'not json',
    '',
    'null',
    '[]',
    '"text"',
    '{}',
    { ...event, seq: 'x' },
    { ...event, at: -1 },
    { ...event, severity: 'fatal' },
    { ...event, scope: 'attempt' },
    { ...event, origins: [{ file: 'x' }] },
    { ...event, message: null },
    { ...event, message: { count: 1 } },
    { eventEnd: 'now', message: {} },
  ])('%j is not an event', value => {
    expect(read(value)).toBeUndefined()
  })

  test('an event cannot end before it begins', () => {
    expect(read({ ...event, at: 5, from: 9000 })).toMatchObject({ at: 5, from: 5 })
  })

  test('unknown fields are ignored', () => {
    expect(read({ ...event, flavour: 'sweet', message: { ...event.message, why: 'x' } })).toBeDefined()
  })

  test('an unknown message type is shown as raw JSON', () => {
    const strange = read({ ...event, message: { type: 'teleport', to: 'mars' } })!
    expect(wordsOf(strange)).toEqual({ label: 'teleport', text: '{"to":"mars"}' })
  })

  test('a known type with invalid fields is shown as raw JSON', () => {
    const strange = read({ ...event, message: { type: 'route', selected: 3 } })!
    expect(wordsOf(strange)).toEqual({ label: 'route', text: '{"selected":3}' })
  })

  test('inherited object keys are not message types', () => {
    expect(wordsOf(read({ ...event, message: { type: 'constructor' } })!)).toEqual({ label: 'constructor', text: '{}' })
  })
})

test('restarted sequence numbers begin a new stream with separate requests', () => {
  const { texts } = ((recorder: Recorder) => {
    recorder.start('1', '/before')
    recorder.add({ type: 'listener', bind: 'b', listener: 'l' }, { request: '1' })
    return recorder
  })(new Recorder())
  const again = new Recorder()
  again.start('1', '/after')
  again.finish('1', 200)
  const reader = createEventReader()
  const events = [...texts, '{"seq":', ...again.texts].flatMap(text => reader.read(text) ?? [])
  expect(events.map(({ stream }) => stream)).toEqual([0, 0, 1, 1])
  const { requests } = addEvents(EMPTY, events)
  expect(requests).toMatchObject([
    { path: '/before', broken: true, end: undefined },
    { path: '/after', broken: false, end: { status: 200 } },
  ])
})

test('reads agentgateway’s event stream like gwctl’s own', () => {
  const reader = createEventReader()
  const state = { request: { method: 'GET', uri: 'http://h/a', headers: { accept: '*/*', 'x-multi': ['a', 'b'] } } }
  const lines = [
    { type: 'requestStarted' },
    { type: 'requestSnapshot', stage: 'initial request', requestState: state },
    { type: 'routeSelection', selectedRoute: 'default/r', evaluatedRoutes: ['default/q', 'default/r'] },
    { type: 'policySelection', phase: 'route', effectivePolicy: { cors: null, jwt: {} } },
    { type: 'backendCallResult', status: null, error: 'refused' },
    { type: 'requestFinished', status: 503, error: null },
  ].map((message, i) =>
    reader.read(JSON.stringify({ eventStart: i === 4 ? 100 : null, eventEnd: 200 + i, severity: 'info', message })),
  )
  expect(lines.map(event => event?.seq)).toEqual([1, 2, 3, 4, 5, 6])
  expect(lines[4]).toMatchObject({ from: 100, at: 204, request: '1' })
  expect(lines.slice(1).map(event => wordsOf(event!).text)).toEqual([
    'initial request: GET http://h/a, 3 headers',
    'default/r after 1 other',
    'route: jwt',
    'backend: refused',
    '503, 0 bytes',
  ])
})

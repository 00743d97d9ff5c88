import { expect, test } from 'vitest'
import { addEvents, EMPTY } from '../../../src/tools/events/state.ts'
import { partsReader } from '../../../src/tools/trace/expression-parts.ts'
import { Recorder } from '../events/recorded-events.ts'

const HEADERS = [
  ['host', 'api.example.com'],
  ['x-role', 'contractor\u001b[31m'],
  ['authorization', '<redacted>'],
] as const

/** What is shown of the parts of an expression that gave `holds`, at a step after the head of a request. */
function partsOf(expression: string, holds: boolean, url = 'http://api.example.com/v1?a=1', caller = {}) {
  const recorder = new Recorder()
  recorder.start()
  recorder.add({
    type: 'snapshot',
    stage: 'initial request',
    state: { method: 'POST', url, headers: HEADERS, ...caller },
  })
  recorder.add({ type: 'body', stage: 'initial request', bytes: 9, base64: btoa('{"n":[1]}'), truncated: false })
  recorder.add({
    type: 'authorization',
    result: 'deny',
    rules: [{ rule: expression, mode: 'deny', matched: holds }],
  })
  recorder.add({ type: 'snapshot', stage: 'final response', state: { status: 403, headers: [] } })
  const [request] = addEvents(EMPTY, recorder.events).requests
  const step = request!.steps[3]!
  return partsReader()(request!, step, expression, ({ value }) => (value === true) === holds)
}

test('parts of a rule have the values from the time of the request', () => {
  expect(partsOf('request.method == "POST" && request.path.startsWith("/v1")', true)).toEqual([
    'request.method = "POST"',
    'request.method == "POST" = true',
    'request.path = "/v1"',
    'request.path.startsWith("/v1") = true',
  ])
  expect(partsOf('json(request.body).n.exists(n, n > 5)', false)).toContain('json(request.body).n = [1]')
})

test('marks values missing from the request or not contained in a trace', () => {
  expect(partsOf('request.headers["x-team"] == "a"', false)).toEqual(['request.headers["x-team"]: no such key'])
  expect(partsOf('jwt.sub == "alice"', false)).toEqual(['jwt: no policy has set it'])
  expect(partsOf('extauthz.user == "alice"', false)).toEqual(['extauthz: its value is not in a trace'])
})

test('includes what policies determined about the caller', () => {
  const caller = { jwt: { roles: ['contractor'] }, apiKey: { team: 'red' }, basicAuth: { username: 'alice' } }
  expect(partsOf('jwt.roles.exists(r, r == "contractor")', true, undefined, caller)).toContain(
    'jwt.roles = ["contractor"]',
  )
  expect(partsOf('apiKey.team == "red"', true, undefined, caller)).toContain('apiKey.team = "red"')
  expect(partsOf('basicAuth.username == "bob"', false, undefined, caller)).toContain('basicAuth.username = "alice"')
})

test('hides credentials and escapes control sequences in headers', () => {
  expect(partsOf('request.headers["authorization"] == "Bearer x"', false)).toEqual([
    'request.headers["authorization"] = "<redacted>"',
  ])
  expect(partsOf('request.headers["x-role"] == "x"', false)).toEqual([
    'request.headers["x-role"] = "contractor\\u001b[31m"',
  ])
})

test('shows no parts when the recording contradicts the expression or lacks its values', () => {
  expect(partsOf('request.method == "POST"', false)).toEqual([])
  expect(partsOf('no such (expression', true)).toEqual([])
  expect(partsOf('request.method == "POST"', true, 'http://[::/%zz \u0000')).toEqual([])
})

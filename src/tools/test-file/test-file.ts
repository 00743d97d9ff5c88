import { ipVersion } from '../../http/ip-version.ts'
import {
  boolean,
  def,
  type Infer,
  integer,
  json,
  list,
  map,
  number,
  object,
  oneOf,
  opt,
  parsed,
  req,
  shapes,
  string,
} from '../../schema/builder.ts'
import { duration, port } from '../../schema/scalars.ts'
import { checkExpectations, expectation } from './expectation.ts'

// `*.gwtest.yaml`: run by `gwctl test` and saved by `gwctl trace`. `schemas/gwtest.schema.json` is generated from it.

const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** Characters that Node sends and no parser takes for the end of a header. */
const FIELD_TEXT = /^[\t -~\u0080-\u00ff]*$/
const word = shapes({ string: string(), number: number(), boolean })
const fieldText = string({ pattern: FIELD_TEXT, form: 'text of a header field: Latin-1, without control characters' })
const fieldWord = shapes({ string: fieldText, number: number(), boolean })
const headers = map(shapes({ string: fieldText, number: number(), boolean, list: list(fieldWord) }), {
  keys: key => (FIELD_NAME.test(key) ? undefined : { message: `\`${key}\` is not the name of a header field` }),
})

const name = string({ min: 1 })
const entries = list(
  shapes({
    string: name,
    object: object('MCP entry', { name: req(name, 'Its name.') }, { open: true }),
  }),
)

const answer = {
  status: opt(integer(200, 599), 'Status; 200 when unset.'),
  headers: opt(headers, 'Header fields.'),
  body: opt(string(), 'Body as text.'),
  json: opt(json, 'Body as JSON; `{}` when nothing is set.'),
  delay: opt(duration, 'How long the answer takes, on the clock of the test.'),
  unreachable: opt(boolean, 'Nothing answers there.'),
  llm: opt(
    object('model', {
      text: opt(string(), 'What it says; `Hello.` when unset and no tool is called.'),
      reasoning: opt(string(), 'What it thinks before that.'),
      toolCalls: opt(
        list(
          object('tool call', {
            name: req(string({ min: 1 }), 'Name of the tool.'),
            arguments: opt(json, 'Its arguments; `{}` when unset.'),
          }),
        ),
        'Tools that it calls.',
      ),
      cutAfter: opt(integer(0), 'A stream is cut behind so many events.'),
      inputTokens: opt(integer(0), 'Tokens that it counts in the request; 10 when unset.'),
      outputTokens: opt(integer(0), 'Tokens that it counts in its answer; 2 when unset.'),
    }),
    'A model that answers in the format of the call.',
  ),
  mcp: opt(
    object('MCP server', {
      tools: opt(entries, 'Tools: names, or all that is told of them. `result` is what a call gives.'),
      prompts: opt(entries, 'Prompts: names, or all that is told of them. `text` is their message.'),
      resources: opt(entries, 'Resources: names, or all that is told of them, with `uri` and `text`.'),
    }),
    'A server with these tools, prompts and resources.',
  ),
}
const stub = object('stub', answer, { atMostOneOf: [['body', 'json', 'llm', 'mcp']] })
const stubs = map(shapes({ object: stub, list: list(stub, { min: 1 }) }))

const ip = parsed(string(), 'an IP address', readIp, '')
const address = parsed(string(), 'an absolute http or https URL', readAddress, '')

export const testRequest = object(
  'request',
  {
    method: opt(
      string({ pattern: /^[A-Z][A-Z-]*$/, form: 'a method in capitals such as `POST`' }),
      'Method; GET when unset, POST with a body.',
    ),
    url: opt(address, 'Absolute URL, in place of `path` and `host`.'),
    path: opt(
      string({ pattern: /^\/[^\s#]*$/, form: 'a path that starts with / and has no spaces' }),
      'Path and query.',
    ),
    host: opt(name, 'Host that is asked for; unset: that of the listener, or localhost.'),
    port: opt(
      port,
      'Port of the configuration that it comes in at; unset: that of `url`, else the first with a route for it.',
    ),
    headers: opt(headers, 'Header fields by name.'),
    body: opt(string(), 'Body as text.'),
    json: opt(json, 'Body as JSON.'),
    jwt: opt(
      map(json),
      'Claims of a token, accepted without a signature. `iss` and `aud` are what the policy asks for and it lasts an hour unless they say otherwise; null leaves a claim out.',
    ),
    apiKey: opt(
      shapes({ string: string({ min: 1 }), object: map(json) }),
      'An API key, or metadata of the key that is meant.',
    ),
    source: opt(ip, 'Address of the client; 127.0.0.1 when unset.'),
    sni: opt(name, 'Server name that TLS asks for; the host when unset.'),
    mcp: opt(name, 'MCP method, such as `tools/list`, in a session of its own; the path is /mcp when unset.'),
    params: opt(map(json), 'Parameters of the MCP method.'),
    llm: opt(
      oneOf(['chat', 'messages']),
      'A prompt: `chat` as OpenAI takes it, `messages` as Anthropic does; the path follows from it when unset.',
    ),
    model: opt(name, 'Model of the prompt; `test` when unset.'),
    system: opt(string(), 'System message of the prompt.'),
    user: opt(string(), 'What the user says.'),
    stream: opt(boolean, 'The answer is asked for in pieces.'),
  },
  {
    atLeastOneOf: [['url', 'path', 'mcp', 'llm']],
    atMostOneOf: [
      ['url', 'path'],
      ['url', 'host'],
      ['body', 'json', 'mcp', 'llm'],
    ],
    check: checkShorthands,
  },
)

const repeat = def(integer(1, 100_000), 1, 'How often it is sent.')
const advance = opt(duration, 'How far the clock goes on before.')

const step = object(
  'step',
  {
    advance,
    request: opt(testRequest, 'What is sent.'),
    repeat,
    expect: opt(expectation, 'What has to come of it.'),
  },
  { atLeastOneOf: [['request', 'advance']], check: checkExpectations },
)

const testCase = object(
  'test case',
  {
    name: req(name, 'What it shows.'),
    skip: opt(name, 'Why it does not run.'),
    stubs: opt(stubs, 'Stubs of this case, before those of the file.'),
    upstream: opt(
      object('upstream answer', { status: req(integer(100, 599), 'Status.'), body: opt(string(), 'Body.') }),
      'What stands in for every service without a stub; 200 with an empty object when unset.',
    ),
    request: opt(testRequest, 'What is sent.'),
    repeat,
    expect: opt(expectation, 'What has to come of it.'),
    steps: opt(list(step, { min: 1 }), 'Several requests, one after the other, to the same gateway.'),
  },
  {
    exactlyOneOf: [['request', 'steps']],
    atMostOneOf: [
      ['steps', 'expect'],
      ['steps', 'repeat'],
    ],
    check: value => [...needsExpectation(value), ...checkExpectations(value)],
  },
)

/** A file of test cases. */
export const testFile = object('test file', {
  config: opt(
    name,
    'The configuration, relative to this file: a file, or a directory of resources. `--config` names another.',
  ),
  env: opt(map(word), 'Variables of the configuration, before those of the process.'),
  time: def(
    parsed(string(), 'a time such as `2026-01-01T00:00:00Z`', readTime, 0),
    '2026-01-01T00:00:00Z',
    'When each case begins.',
  ),
  seed: def(integer(0, 2 ** 32 - 1), 1, 'Another number gives other weighted choices.'),
  stubs: opt(
    stubs,
    'What answers for a backend, MCP target, provider, model or address; a list has one answer for each call. `*` is the rest.',
  ),
  cases: req(list(testCase, { min: 1 }), 'Test cases.'),
})

export type TestFile = Infer<typeof testFile>
export type TestCase = TestFile['cases'][number]
export type TestStep = NonNullable<TestCase['steps']>[number]
export type TestRequest = Infer<typeof testRequest>
export type TestStub = Infer<typeof stub>
export type TestStubs = Infer<typeof stubs>
export type TestHeaders = Infer<typeof headers>

function readIp(text: string) {
  return ipVersion(text) === 0
    ? { problem: { message: `\`${text.slice(0, 80)}\` is not an IP address` } }
    : { value: text }
}

function readAddress(text: string) {
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return { value: text }
  return { problem: { message: `\`${text.slice(0, 80)}\` is not an absolute http or https URL` } }
}

function readTime(text: string) {
  const time = Date.parse(text)
  if (Number.isNaN(time) || !/^\d{4}-\d\d-\d\dT/.test(text)) {
    return { problem: { message: `\`${text.slice(0, 40)}\` is not a time such as \`2026-01-01T00:00:00Z\`` } }
  }
  return { value: time }
}

const SHORTHANDS = { mcp: ['params'], llm: ['model', 'system', 'user', 'stream'] } as const

function checkShorthands(value: Record<string, unknown>) {
  return Object.entries(SHORTHANDS).flatMap(([shorthand, fields]) =>
    fields
      .filter(field => value[field] !== undefined && value[shorthand] === undefined)
      .map(field => ({
        message: `\`${field}\` goes with \`${shorthand}\`, which is not set`,
        path: [field],
        at: 'key' as const,
      })),
  )
}

function needsExpectation({ request: single, expect, steps }: Record<string, unknown>) {
  const all = (steps ?? []) as readonly Record<string, unknown>[]
  const none = single === undefined ? all.every(each => each.expect === undefined) : expect === undefined
  if (!none) return []
  const message = 'the case expects nothing, so it could never fail'
  return [{ message, path: [], at: 'parent' as const, label: '`expect` is missing' }]
}

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { docPage } from '../helpers/doc-page.ts'
import { Recorder } from '../tools/events/recorded-events.ts'

const root = new URL('../../', import.meta.url)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-eval-'))
  for (const [name, text] of Object.entries({
    'request.yaml': 'method: PUT\npath: /a?b=c\nheaders: {x-team: a}\njson: {n: 1}\njwt: {sub: bob}\n',
    'mistyped.yaml': 'method: PUT\npaht: /a\n',
    'session.yaml': 'mcp: tools/list\n',
    'context.json': '{"response": {"code": 503, "headers": {"set-cookie": "id=very-secret"}}}',
    'copied.sh': "curl https://api.example.com/x -H 'x-team: b'\n",
    'trace.jsonl': recorded(),
    'empty.jsonl': '',
    'list.yaml': '- 1\n',
  }))
    writeFileSync(join(folder, name), text)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Numbers as in a file of gwctl trace --record: two requests, in the order in which their events came. */
function recorded(): string {
  const recorder = new Recorder()
  recorder.start('r1', '/v1/chat')
  const headers = [
    ['x-team', 'search'],
    ['authorization', '<redacted>'],
  ] as const
  const url = 'http://api.example.com/v1/chat'
  recorder.add({ type: 'snapshot', stage: 'initial request', state: { method: 'POST', url, headers } })
  recorder.start('r2', '/other')
  const base64 = Buffer.from('{"model": "gpt-x"}').toString('base64')
  recorder.add({ type: 'body', stage: 'initial request', bytes: 18, base64, truncated: false })
  recorder.add({ type: 'snapshot', stage: 'urlRewrite', state: { method: 'POST', url: `${url}/new`, headers } })
  recorder.add({ type: 'backend', backend: 'models', kind: 'ai' })
  recorder.add({ type: 'llm', provider: 'openai', model: 'gpt-x', streaming: true, inputTokens: 12, outputTokens: 3 })
  recorder.add({ type: 'mcp', method: 'tools/call', target: 'time', name: 'now' })
  recorder.add({ type: 'snapshot', stage: 'final response', state: { status: 502, headers: [['x-by', 'a']] } })
  return `${recorder.texts.join('\n')}\n`
}

async function evaluate(argv: readonly string[], stdin = '') {
  const io = memoryIo({ cwd: folder, stdin })
  const code = await main(['eval', ...argv], io, root)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

async function value(...argv: string[]): Promise<unknown> {
  const { out, err } = await evaluate(argv)
  expect(err).toBe('')
  return JSON.parse(out)
}

describe('the value is printed as JSON', () => {
  test.each<[string, unknown]>([
    ['1 + 1', 2],
    ['"a" + "\\"b"', 'a"b'],
    ['[1, true, null]', [1, true, null]],
    ['{"a": duration("1s")}', { a: '1s' }],
    ['9007199254740993', '9007199254740993'],
    ['bytes("text")', 'text'],
    ['b"\\xff"', { base64: '/w==' }],
    ['timestamp("2026-01-15T12:00:00Z")', '2026-01-15T12:00:00.000Z'],
  ])('%s', async (text, expected) => {
    expect(await value(text)).toEqual(expected)
  })

  test('reads the expression from stdin', async () => {
    expect(await evaluate(['-'], 'request.method == "GET"\n')).toEqual({ code: 0, out: 'true\n', err: '' })
  })
})

describe('evaluation input', () => {
  test('a curl-style request, its client address and time', async () => {
    const all = '[request.method, request.uri, request.headers["x-team"], string(request.body), source.address]'
    const words = ['PATCH', 'https://h/p?q=1', '-H', 'x-team: a', '-d', 'b=1', '--source', '10.0.0.1']
    expect(await value(all, ...words)).toEqual(['PATCH', 'https://h/p?q=1', 'a', 'b=1', '10.0.0.1'])
    expect(await value('request.startTime', '--at', '2026-01-15T12:00:00Z')).toBe('2026-01-15T12:00:00.000Z')
    expect(await value('destination.hostname', 'https://h/', '--tls-sni', 'other')).toBe('other')
    expect(await value('request.headers["x-team"]', '--curl', 'copied.sh')).toBe('b')
  })

  test('JWT claims and API key metadata', async () => {
    expect(await value('jwt.sub', '--jwt', '{"sub": "alice"}')).toBe('alice')
    expect(await value('jwt.sub', '--jwt-claims', '{"sub": "alice"}')).toBe('alice')
    expect(await value('apiKey.name', '--api-key', 'ci')).toBe('ci')
  })

  test('a request file in test case format, extended by flags', async () => {
    const text = '[request.method, request.pathAndQuery, request.headers["x-team"], json(request.body).n, jwt.sub]'
    expect(await value(text, '--request', 'request.yaml')).toEqual(['PUT', '/a?b=c', 'a', 1, 'bob'])
    expect(await value('jwt.sub', '--request', 'request.yaml', '--jwt', '{"sub": "eve"}')).toBe('eve')
  })

  test('variables by name, from a file or inline', async () => {
    expect(await value('response.code', '--phase', 'response', '--context', 'context.json')).toBe(503)
    expect(await value('llm.inputTokens', '--phase', 'usage', '--context', '{"llm": {"inputTokens": 9}}')).toBe(9)
    expect(await value('request.path', '/a', '--context', '{"request": {"path": "/b"}}')).toBe('/b')
  })

  test('protocol fields from the body', async () => {
    expect(await value('llmRequest.model', '--phase', 'llm', '--json', '{"model": "m"}')).toBe('m')
    const call = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}}'
    expect(await value('mcp.tool.name', '--phase', 'mcp', '--json', call)).toBe('echo')
    expect(await value('mcp.methodName', '--phase', 'log', '--json', call)).toBe('tools/call')
  })

  test.each<[string, string, string, unknown]>([
    ['the request before a rewrite', '[request.path, request.headers["x-team"]]', '#2', ['/v1/chat', 'search']],
    ['another request', '[request.path, source.address]', '#3', ['/other', '10.1.2.3']],
    [
      'the request after a rewrite',
      '[request.path, string(request.body)]',
      '#5',
      ['/v1/chat/new', '{"model": "gpt-x"}'],
    ],
    ['log fields', '[llm.requestModel, backend.name, mcp.tool.target]', '', ['gpt-x', 'models', 'time']],
    ['the response', '[response.code, response.headers["x-by"]]', '#9', [502, 'a']],
    ['the start time', 'request.startTime', '#4', '2026-01-15T12:30:45.250Z'],
  ])('a recorded event: %s', async (_, text, number, expected) => {
    expect(await value(text, '--phase', 'log', '--trace', `trace.jsonl${number}`)).toEqual(expected)
  })

  test('a recorded event does not include what came later', async () => {
    const { code, err } = await evaluate(['response.code', '--phase', 'log', '--trace', 'trace.jsonl#8'])
    expect(code).toBe(1)
    expect(err).toContain('error: the variable has no value here')
  })
})

describe('the phase determines the variables', () => {
  test.each<[string, string, string]>([
    ['request', 'response.code', 'available in: response policies, access logs'],
    ['usage', 'response.code', 'not available here'],
    ['connection', 'request.path', 'not available here'],
    ['target', 'request.path', 'not available here'],
    ['request', 'llmRequest.model', 'available in: LLM request policies'],
  ])('%s: %s', async (phase, text, message) => {
    const { code, out, err } = await evaluate([text, '--phase', phase])
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain(message)
  })

  test.each(['request', 'response', 'llm', 'mcp', 'usage', 'log', 'connection', 'target'])('%s', async phase => {
    expect(await value('source.address == "127.0.0.1"', '--phase', phase)).toBe(true)
  })
})

describe('--type', () => {
  test.each([
    ['request.path + "a"', 'string'],
    ['request.path.size() > 1', 'bool'],
    ['jwt.sub', 'any'],
  ])('%s: %s', async (text, type) => {
    expect(await evaluate([text, '--type'])).toEqual({ code: 0, out: `${type}\n`, err: '' })
  })
})

test('--steps prints the value of each part', async () => {
  const text = 'jwt.roles.exists(r, r == "admin") || request.headers["x-role"] == "admin"'
  const run = await evaluate(['--steps', text, '--jwt', '{"roles": ["user"]}', '-H', 'x-role: guest'])
  expect(run).toEqual({
    code: 0,
    err: '',
    out: `jwt.roles                             → ["user"]
jwt.roles.exists(r, r == "admin")     → false
request.headers["x-role"]             → "guest"
request.headers["x-role"] == "admin"  → false
${text}
                                      → false
`,
  })
})

test('a path that starts with two slashes is not taken for a host', async () => {
  const { out } = await evaluate(['request.host + request.path', '//other/a'])
  expect(out).toBe('"localhost//other/a"\n')
})

test.each([[[]], [['--steps']], [['-o', 'json']]])('no value can control the terminal: %j', async form => {
  const { out } = await evaluate(['"a\\u009b31m"', ...form])
  expect(out).toContain('a\\u009b31m')
  expect(out).not.toContain('\u009b')
})

test('-o json contains the value, the type and the steps', async () => {
  const { out } = await evaluate(['jwt.n > 1', '--jwt', '{"n": 2}', '--steps', '-o', 'json=out.json'])
  expect(out).toBe('')
  expect(JSON.parse(readFileSync(join(folder, 'out.json'), 'utf8'))).toEqual({
    phase: 'request',
    expression: 'jwt.n > 1',
    type: 'bool',
    value: true,
    steps: [{ expression: 'jwt.n', type: 'any', value: 2 }],
  })
  const failed = await evaluate(['jwt.n > 1', '-o', 'json'])
  expect(JSON.parse(failed.out)).toMatchObject({ error: 'the variable has no value here', span: [0, 3] })
})

test.each<[string, number]>([
  ['true', 0],
  ['1 == 2', 1],
  ['"true"', 1],
  ['jwt.sub == "a"', 1],
])('--exit-value: %s exits with %i', async (text, code) => {
  expect((await evaluate([text, '--exit-value'])).code).toBe(code)
})

describe('errors are shown at their position', () => {
  test.each<[string, string[], string]>([
    [
      'request.pth',
      [],
      `error[GW302]: \`request\` has no field \`pth\`
 --> expression:1:9
  |
1 | request.pth
  |         ^^^
  |
  = help: did you mean \`path\`?
  = docs: gwctl explain GW302
`,
    ],
    ['1 +', [], 'error[GW301]'],
    ['x'.repeat(20_000), [], 'error[GW303]'],
    [
      'true &&\n  jwt.a.rolse == 1',
      ['--jwt', '{"a": {"roles": 1}}'],
      `error: no such key
 --> expression:2:3
  |
1 | true &&
2 |   jwt.a.rolse == 1
  |   ^^^^^^^^^^^
  |
  = help: did you mean \`roles\`?
`,
    ],
    ['jwt.sub', [], '  = help: --jwt-claims gives it claims.\n'],
    ['backend.name', [], `  = help: --context '{"backend": …}' gives it a value, and so may --trace.\n`],
    [
      'jwt.a["b"].c',
      ['--jwt', '{"a": {"first": 1, "second": 2}}'],
      '  | ^^^^^^^^^^\n  |\n  = help: It has first, second.\n',
    ],
    ['true && int("a") == 1', [], '        ^^^^^^^^\n'],
  ])('%s', async (text, argv, message) => {
    const { code, out, err } = await evaluate([text, ...argv])
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain(message)
  })
})

describe('credentials are redacted', () => {
  test.each<[string, string[]]>([
    ['request.headers.authorization', ['-H', 'authorization: Bearer very-secret']],
    ['request.headers', ['-H', 'authorization: Bearer very-secret']],
    ['request.headers.authorization.substring(7)', ['-H', 'authorization: Bearer very-secret']],
    ['request.headers.cookie', ['-H', 'cookie: a=b; session=very-secret']],
    ['request.headers["x-api-key"]', ['-H', 'x-api-key: very-secret']],
    ['response.headers["set-cookie"]', ['--phase', 'response', '--context', 'context.json']],
  ])('%s', async (text, argv) => {
    for (const form of [[], ['--steps'], ['-o', 'json']]) {
      const { code, out, err } = await evaluate([text, ...argv, ...form])
      expect(code).toBe(0)
      expect(out).toContain('<redacted>')
      expect(out + err).not.toContain('very-secret')
    }
  })

  test('but expressions can test them', async () => {
    const ask = 'request.headers.authorization.startsWith("Bearer ")'
    expect(await value(ask, '-H', 'authorization: Bearer very-secret')).toBe(true)
  })
})

describe('invalid input is reported', () => {
  test.each<[string[], number, string]>([
    [[], 2, 'An expression is missing.'],
    [[''], 2, 'An expression is missing.'],
    [['-'], 3, 'stdin is empty'],
    [['1', '--phase', 'reqest'], 2, 'did you mean `request`?'],
    [['1', '--type', '--steps'], 2, '--steps'],
    [['1', '/a', '--request', 'request.yaml'], 2, 'given twice: by request.yaml'],
    [['1', '/a', '--trace', 'trace.jsonl'], 2, 'given twice: by trace.jsonl'],
    [['1', '--trace', 'trace.jsonl', '-H', 'a: b'], 2, '--trace'],
    [['1', '--request', 'mistyped.yaml'], 3, 'mistyped.yaml:2:1: unknown field `paht` in request.'],
    [['1', '--request', 'session.yaml'], 3, 'stands for a session'],
    [['1', '--request', 'reqest.yaml'], 3, 'did you mean `request.yaml`?'],
    [['1', '--context', '[1]'], 3, '[1] does not exist'],
    [['1', '--context', 'list.yaml'], 3, 'no map of variables'],
    [['1', '--context', '{"respnse": 1}'], 3, 'respnse is not a variable of expressions: did you mean `response`?'],
    [['1', '--context', '{"a": '], 3, '--context:1:'],
    [['1', '--trace', 'trace.jsonl#99'], 3, 'trace.jsonl has no event 99.\nIt has 9, from 1 on.'],
    [['1', '--trace', 'empty.jsonl'], 3, 'empty.jsonl holds no trace events.'],
  ])('%j', async (argv, code, message) => {
    const run = await evaluate(argv)
    expect(run).toMatchObject({ code, out: '' })
    expect(run.err).toContain(message)
  })
})

describe('interactive mode', () => {
  /** Everything that is typed, in one go or key by key; the end of it is Ctrl-D. */
  async function type(keys: readonly string[], argv: readonly string[] = []) {
    const io = memoryIo({ cwd: folder, terminal: true, env: { NO_COLOR: '1' } })
    const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
    const code = main(['eval', ...argv], { ...io, stdin }, root)
    for (const key of keys) {
      const before = io.stdout.text.length
      stdin.write(key)
      await expect.poll(() => io.stdout.text.length).toBeGreaterThan(before)
    }
    stdin.end()
    return { code: await code, out: io.stdout.text, err: io.stderr.text }
  }

  test('evaluates one line after another', async () => {
    const jwt = ['--jwt', '{"sub": "bob"}', '-H', 'authorization: Bearer very-secret']
    const lines = ['jwt.sub\n', 'jwt.sbu\n', ':steps\n', 'jwt.sub == "bob"\n', 'request.headers.authorization\n']
    const { code, out, err } = await type(lines, jwt)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('"bob"\n')
    expect(out).toContain('  = help: did you mean `sub`?\n')
    expect(out).toContain('jwt.sub           → "bob"\njwt.sub == "bob"  → true\n')
    expect(out).toContain('→ "<redacted>"')
    expect(out).not.toContain('very-secret')
  })

  test('switches the phase or shows a type', async () => {
    const lines = [
      'response.code\n',
      ':phase reponse\n',
      ':phase response\n',
      ':type response.code\n',
      ':what\n',
      ':help\n',
    ]
    const { out } = await type(lines)
    expect(out).toContain('`response` is not available here')
    expect(out).toContain('reponse is not a phase: did you mean `response`?')
    expect(out).toContain('response> ')
    expect(out).toContain('int\n')
    expect(out).toContain('there is no command :what; :help lists them')
    expect(out.match(/Tab completes names/g)).toHaveLength(2)
  })

  test('lists the variables of the phase with a description', async () => {
    const { out } = await type([':vars\n', ':phase response\n', ':vars\n'])
    const [asked = '', answered = ''] = out.split('response> ')
    expect(asked).toMatch(/^ {2}request {2,}\S/m)
    expect(asked).not.toMatch(/^ {2}response {2,}/m)
    expect(answered).toMatch(/^ {2}response {2,}\S/m)
  })

  test.each([
    ['requ', 'request'],
    ['request.me', 'request.method'],
    ['1 + jwt.ro', 'jwt.roles'],
    ['jwt.a.de', 'jwt.a.deep'],
    ['resp', 'response'],
  ])('Tab completes %s', async (begun, whole) => {
    const { out } = await type([begun, '\t', '\n'], ['--phase', 'response', '--jwt', '{"roles": [], "a": {"deep": 1}}'])
    expect(out.split('response> ').at(1)?.split('\n')[0]).toContain(whole)
  })

  test('ends with Ctrl-C', async () => {
    const { code, err } = await type(['\u0003'])
    expect(code).toBe(130)
    expect(err).toContain('stopped by SIGINT')
  })
})

test('the documented example gives the documented output', async () => {
  const { commands, shown } = docPage('eval.md')
  const [verb, ...argv] = commands[0]!.argv
  expect(verb).toBe('eval')
  expect(await evaluate(argv)).toEqual({ code: 0, out: shown[0], err: '' })
})

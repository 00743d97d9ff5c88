import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { Failure } from '../../src/diagnostics/failure.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { createAuthority, createCertificate } from '../helpers/certificates.ts'
import { startGateway } from '../helpers/gateway.ts'

const root = new URL('../../', import.meta.url)

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-test-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function write(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  writeFileSync(join(folder, file), text)
}

async function gwctl(argv: readonly string[], options: Parameters<typeof memoryIo>[0] = {}) {
  const io = memoryIo({ cwd: folder, ...options })
  const code = await main(['test', ...argv], io, root)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

const CONFIG = `binds:
- port: 3000
  listeners:
  - routes:
    - name: limited
      matches: [{path: {pathPrefix: /limited}}]
      policies:
        localRateLimit: [{maxTokens: 2, tokensPerFill: 2, fillInterval: 60s}]
      backends: [{host: 'api.test:80'}]
    - name: guarded
      matches: [{path: {pathPrefix: /guarded}}]
      policies:
        jwtAuth: {issuer: 'https://id.test', jwks: '{"keys":[]}'}
        authorization:
          rules:
          - 'jwt.role == "admin"'
        requestHeaderModifier: {set: {x-user: gateway}}
      backends: [{host: 'api.test:80'}]
    - name: keyed
      matches: [{path: {pathPrefix: /keyed}}]
      policies:
        apiKey:
          keys:
          - {keyHash: 'sha256:${'0'.repeat(64)}', metadata: {user: ann}}
          - {key: key-of-ben, metadata: {user: ben}}
        transformations: {request: {set: {x-user: apiKey.user}}}
      backends: [{host: 'api.test:80'}]
    - name: near
      matches: [{path: {pathPrefix: /near}}]
      policies: {authorization: {rules: ['source.address.startsWith("10.")']}}
      backends: [{host: 'api.test:80'}]
    - name: mine
      matches: [{path: {pathPrefix: /mine}}]
      policies: {jwtAuth: {issuer: 'https://id.test', jwks: '{"keys":[]}'}}
      backends:
      - mcp: {targets: [{name: everything, stdio: {cmd: /no/such/program}}]}
        policies: {mcpAuthorization: {rules: ['mcp.tool.name != "reset" || jwt.sub == "ann"']}}
    - name: tools
      matches: [{path: {pathPrefix: /mcp}}]
      backends:
      - mcp: {targets: [{name: everything, stdio: {cmd: /no/such/program}}]}
        policies: {mcpAuthorization: {rules: ['mcp.tool.name != "reset"', 'mcp.prompt.name == "hi"', 'mcp.resource.name.contains("page")']}}
llm:
  port: 4000
  models:
  - {name: '*', provider: openAI, params: {apiKey: $KEY}}
`

/** One case per line of YAML between braces. */
function cases(...lines: readonly string[]): string {
  return `config: gateway.yaml
env: {KEY: dummy}
stubs:
  everything: {mcp: {tools: [{name: echo, result: said}, reset], prompts: [{name: hi, text: Hi!}], resources: [page]}}
  api.test: {headers: {x-from: stub}, json: {list: [{id: 1, name: one}, {id: 2}], text: four, count: 4}}
  openai: {llm: {text: Hi there., inputTokens: 900}}
cases:
${lines.map((line, i) => `- ${line.startsWith('name') ? line : `name: case ${i}\n  ${line}`}\n`).join('')}`
}

async function run(...lines: readonly string[]) {
  write('gateway.yaml', CONFIG)
  write('a.gwtest.yaml', cases(...lines))
  return gwctl(['-v'])
}

const ADMIN = 'request: {path: /guarded, jwt: {role: admin}}'

describe('requests and expectations of a case', () => {
  test.each([
    ['a list of statuses', 'repeat: 3\n  request: {path: /limited}\n  expect: {status: [200, 200, 429]}'],
    ['token claims', `${ADMIN}\n  expect: {status: 200, upstream.header.x-user: gateway}`],
    [
      'other token claims',
      'request: {path: /guarded, jwt: {role: user}}\n  expect: {status: 403, authorization: deny}',
    ],
    ['no token', 'request: {path: /guarded}\n  expect: {status: 401, reason: JwtAuth, policy.jwtAuth: failed}'],
    ['no upstream request', 'request: {path: /guarded}\n  expect: {upstream: {absent: true}, calls: []}'],
    ['an unknown path', 'request: {path: /nowhere, port: 3000}\n  expect: {status: 404, route: {absent: true}}'],
    ['MCP tools', 'request: {mcp: tools/list}\n  expect: {status: 200, mcp.tools: {include: echo, exclude: [reset]}}'],
    [
      'callers with separate sessions',
      `steps:
  - {request: {mcp: tools/list, path: /mine, jwt: {sub: ann}}, expect: {mcp.tools: [echo, reset]}}
  - {request: {mcp: tools/list, path: /mine, jwt: {sub: ben}}, expect: {mcp.tools: [echo]}}
  - {request: {mcp: tools/call, path: /mine, params: {name: reset}, jwt: {sub: ann}}, expect: {status: 200, mcp.isError: null}}
  - {request: {mcp: tools/call, path: /mine, params: {name: reset}, jwt: {sub: ben}}, expect: {mcp.error.message: {contains: Unknown}}}
  - {request: {mcp: tools/list, path: /mine}, expect: {status: 401}}`,
    ],
    [
      'MCP prompts',
      'request: {mcp: prompts/get, params: {name: hi}}\n  expect: {mcp.result.messages: [{content: {text: Hi!}}]}',
    ],
    [
      'MCP resources',
      'request: {mcp: resources/list}\n  expect: {mcp.resources: [page], "mcp.result.resources[0].uri": {contains: page}}',
    ],
    ['an MCP call', 'request: {mcp: tools/call, params: {name: echo}}\n  expect: {mcp.text: said, mcp.isError: null}'],
    [
      'a prompt',
      'request: {llm: chat, user: hey}\n  expect: {backend: openai, llm: {text: Hi there., inputTokens: 900}}',
    ],
    [
      'a streamed prompt',
      'request: {llm: chat, user: hey, model: m, stream: true}\n  expect: {llm: {text: Hi there., streaming: true}, upstream.json: {model: m}}',
    ],
    [
      'the request sent to a provider',
      'request: {llm: chat, user: hey}\n  expect: {upstream.json.messages.0.content: hey}',
    ],
    [
      'header fields named like object members',
      `request: {path: /limited, headers: {constructor: a, __proto__: b}}
  expect: {upstream.header.constructor: a, upstream.header.__proto__: b}`,
    ],
    ['a path as seen by backends', 'request: {path: /limited//../x}\n  expect: {upstream.path: /limited/x}'],
    ['a credential', 'request: {llm: chat, user: hey}\n  expect: {upstream.header.authorization: Bearer dummy}'],
    [
      'steps with time in between',
      `steps:
  - {request: {path: /limited}, repeat: 2, expect: {status: 200}}
  - {request: {path: /limited}, expect: {status: 429, header.x-ratelimit-remaining: 0}}
  - {advance: 60s, request: {path: /limited}, expect: {status: 200, header.x-ratelimit-remaining: {lt: 2}}}`,
    ],
    ['a per-case stub', `stubs: {api.test: {status: 503}}\n  ${ADMIN}\n  expect: {status: 503, reason: Upstream}`],
    [
      'each of several calls',
      `stubs: {api.test: [{unreachable: true}, {status: 500}]}
  ${'request: {path: /guarded, jwt: {role: admin}}'}
  expect: {status: 503, "calls[0].backend": api.test, "calls[0].status": null, calls: {length: 1}, error: {contains: refused}}`,
    ],
    [
      'an API key selected by its metadata',
      'request: {path: /keyed, apiKey: {user: ann}}\n  expect: {status: 200, upstream.header.x-user: ann}',
    ],
    ['an API key', 'request: {path: /keyed, apiKey: key-of-ben}\n  expect: {status: 200, upstream.header.x-user: ben}'],
    ['a wrong API key', 'request: {path: /keyed, apiKey: key-of-ann}\n  expect: {status: 401}'],
    ['a client with a given address', 'request: {path: /near, source: 10.1.2.3}\n  expect: {status: 200}'],
    ['a client with another address', 'request: {path: /near}\n  expect: {status: 403}'],
    [
      'a body and its default method',
      'request: {path: /limited, json: {a: [1]}}\n  expect: {upstream: {method: POST, json: {a: [1]}, header: {content-type: application/json}}}',
    ],
    ['an absolute URL', 'request: {url: "http://any.test:3000/limited?a=1"}\n  expect: {upstream.path: /limited?a=1}'],
  ])('%s', async (_, lines) => {
    const { code, out, err } = await run(lines)
    expect({ code, err, out }).toMatchObject({ code: 0, err: '', out: expect.stringContaining('1 passed') })
  })

  test('each case starts with fresh state, which is kept within the case', async () => {
    const once = 'request: {path: /limited}\n  expect: {header.x-ratelimit-remaining: 1}'
    expect(
      (
        await run(
          once,
          once,
          'repeat: 2\n  request: {path: /limited}\n  expect: {header.x-ratelimit-remaining: [1, 0]}',
        )
      ).code,
    ).toBe(0)
  })
})

describe('matchers', () => {
  test.each([
    ['json.count', '4', '5'],
    ['json.count', '{equals: 4}', '{equals: "4"}'],
    ['json.count', '{gt: 3, lt: 5}', '{gt: 3, lt: 4}'],
    ['json.count', '{gte: 4, lte: 4}', '{gte: 5}'],
    ['json.count', '{lte: 4}', '{lte: 3}'],
    ['json.count', '{any: [3, 4]}', '{any: [3, 5]}'],
    ['json.count', '{not: 5}', '{not: 4}'],
    ['json.text', '{contains: ou}', '{contains: ou2}'],
    ['json.text', '{contains: [fo, ur]}', '{contains: [fo, five]}'],
    ['json.text', '{notContains: five}', '{notContains: [five, our]}'],
    ['json.text', '{matches: "^f.*r$"}', '{matches: "^o"}'],
    ['json.text', '{notMatches: "^o"}', '{notMatches: ou}'],
    ['json.text', '{length: 4}', '{length: {gt: 4}}'],
    ['json.list', '{length: {gte: 2}}', '{length: 3}'],
    ['json.list', '{include: {id: 2}}', '{include: {id: 3}}'],
    ['json.list', '{exclude: {id: 3}}', '{exclude: [{id: 3}, {name: one}]}'],
    ['json.list', '[{id: 1}, {id: 2}]', '[{id: 1}]'],
    ['json', '{list: [{name: one}, {}], count: {gt: 3}}', '{list: [{name: two}, {}]}'],
    ['json.list[0].name', 'one', 'two'],
    ['json', '{Other: {absent: true}, text: {contains: o}}', '{Other: 1}'],
    ['upstream', '{header: {x-user: gateway}, path: /guarded}', '{header: {x-user: {absent: true}}}'],
    ['json.header.Name', '{absent: true}', '{absent: false}'],
    ['json.none', '{absent: true}', '{absent: false}'],
    ['json.text', '{absent: false}', '{absent: true}'],
    ['header.x-from', 'stub', '{not: stub}'],
    ['header["x-from"]', 'stub', 'nobody'],
    ['body', '{contains: four}', '{contains: five}'],
    ['backend', 'api.test', 'other.test'],
    ['route', 'guarded', 'limited'],
    // What is not there is not "without" anything: such a case would look in the wrong place and never fail.
    ['json.text', '{notContains: x}', '{notContains: f}'],
  ])('%s: %s holds, %s does not', async (field, right, wrong) => {
    const quoted = JSON.stringify(field)
    const { code, out } = await run(
      `${ADMIN}\n  expect: {${quoted}: ${right}}`,
      `${ADMIN}\n  expect: {${quoted}: ${wrong}}`,
    )
    expect(out).toContain('✓ case 0')
    expect(out).toContain('✖ case 1')
    expect(code).toBe(1)
  })

  test.each(['{notContains: x}', '{notMatches: x}', '{exclude: x}', '{lt: 5}', '{contains: ""}', '{length: 0}', '1'])(
    '%s does not match a missing field',
    async matcher => {
      expect((await run(`${ADMIN}\n  expect: {json.nowhere: ${matcher}}`)).code).toBe(1)
    },
  )
})

describe('a failure', () => {
  test('shows the fields that differ, then the step that decided with its line', async () => {
    const { code, out } = await run(
      'name: user is let in\n  request: {path: /guarded, jwt: {role: user}}\n  expect: {status: 200, route: guarded, reason: Upstream}',
    )
    expect(code).toBe(1)
    expect(out.replace(/\(\d+ ms\)/, '(1 ms)')).toBe(`a.gwtest.yaml
  ✖ user is let in  line 8
      status  expected 200, got 403
      reason  expected "Upstream", got "Authorization"
      decided by authorization: deny: allow jwt.role == "admin" did not match  gateway.yaml:14
      14 |         authorization:

✖ 1 failed, 0 passed in 1 file (1 ms)
`)
  })

  test('is reported when the configuration opens no port', async () => {
    write('gateway.yaml', 'binds: []\n')
    write('a.gwtest.yaml', cases(`${ADMIN}\n  expect: {status: 200}`))
    const { code, out } = await gwctl([])
    expect(code).toBe(1)
    expect(out).toContain('✖ case 0: the configuration opens no port, so no request can come in.')
  })

  test('hides a credential sent in a query, but still compares it', async () => {
    write(
      'gateway.yaml',
      `binds: [{port: 3000, listeners: [{routes: [{backends: [{host: 'a.test:80', policies: {backendAuth: {key: {value: very-secret, location: {queryParameter: {name: key}}}}}}]}]}]}]`,
    )
    const expected = 'upstream.path: /, upstream: {absent: true}, calls: []'
    const sent = 'upstream.url: {contains: key=very-secret}'
    write('a.gwtest.yaml', cases(...[expected, sent].map(each => `request: {path: /}\n  expect: {${each}}`)))
    const { out } = await gwctl([])
    expect(out).toContain('1 failed, 1 passed')
    expect(out).toMatch(/^ +upstream\.path +expected another value, got a credential, which is not shown$/m)
    expect(out).not.toContain('very-secret')
  })

  test('suggests a name for an unknown route', async () => {
    const { out } = await run('request: {path: /limited}\n  expect: {route: limitd, listener: x, backend: nobody}')
    expect(out).toContain('expected "limitd" (no route is called so, did you mean `limited`?), got "limited"')
    expect(out).toContain('expected "x" (no listener is called so), got "')
  })

  test('is reported for a port that is not open', async () => {
    const { out } = await run('request: {path: /limited, port: 99}\n  expect: {status: 200}')
    expect(out).toContain('✖ case 0: the configuration opens no port 99, only 3000, 4000.')
  })

  test('is reported for a host no gateway would accept', async () => {
    const { code, out } = await run('request: {path: /limited, host: a b}\n  expect: {status: 200}')
    expect(code).toBe(1)
    expect(out).toContain('✖ case 0: `a b` names no host: a gateway answers 400')
  })

  test('names the step and the repetition, and summarizes further ones', async () => {
    const { out } = await run(
      'steps:\n  - {request: {path: /limited}, expect: {status: 200}}\n  - {request: {path: /limited}, repeat: 9, expect: {status: 200}}',
    )
    expect(out).toContain('step 2, repetition 2\n      status  expected 200, got 429\n')
    expect(out).toContain('and 5 more like these')
  })

  test('names a stub that may be misspelled: unused, while a call had no stub', async () => {
    write('gateway.yaml', CONFIG)
    const llm = 'cases: [{name: a, request: {llm: chat, model: m}, expect: {status: 500}}]'
    write('a.gwtest.yaml', `config: gateway.yaml\nenv: {KEY: k}\nstubs: {opnAI: {status: 500}}\n${llm}\n`)
    expect((await gwctl([])).out).toContain('called without a stub: openAI; stubs that nothing called: opnAI\n')
    write('a.gwtest.yaml', `config: gateway.yaml\nenv: {KEY: k}\nstubs: {openAI: {status: 500}, x: {}}\n${llm}\n`)
    expect((await gwctl(['-v'])).out).not.toContain('stub')
  })

  test('never reveals a credential', async () => {
    for (const format of ['text', 'json', 'tap', 'junit', 'github']) {
      write('gateway.yaml', CONFIG)
      write(
        'a.gwtest.yaml',
        cases(
          'request: {llm: chat}\n  expect: {upstream.header.authorization: none, upstream.header: {x-a: b}, upstream: {not: {method: POST}}}',
        ),
      )
      const { code, out, err } = await gwctl(['-o', format])
      expect(code).toBe(1)
      expect(out).toContain('a credential, which is not shown')
      expect(out + err).not.toContain('dummy')
    }
  })

  test('shows the findings of a configuration that cannot be served', async () => {
    write('gateway.yaml', CONFIG.replace('jwtAuth:', 'jwtAuht:'))
    write('a.gwtest.yaml', cases(`${ADMIN}\n  expect: {status: 200}`))
    const { code, out } = await gwctl([])
    expect(code).toBe(1)
    expect(out).toContain('error[GW102]: unknown field `jwtAuht` in route policies\n  --> gateway.yaml:13:9\n')
    expect(out).toContain('✖ case 0: the configuration cannot be served')
  })
})

describe('guard results', () => {
  const GUARDED = `llm:
  port: 4000
  models:
  - {name: '*', provider: openAI, params: {apiKey: $KEY}}
  guardrails:
    request:
    - regex: {rules: [{builtin: ssn}]}
    - regex: {action: reject, rules: [{pattern: forbidden, name: words}]}
    - webhook: {target: {host: 'guard.test:80'}}
    response:
    - regex: {rules: [{builtin: email}]}
`
  const asking = (user: string, expected: string, stub = '') =>
    `${stub === '' ? '' : `stubs: {guard.test: ${stub}}\n  `}request: {llm: chat, user: ${user}}\n  expect: {${expected}}`
  async function guarded(...lines: readonly string[]) {
    write('gateway.yaml', GUARDED)
    write('a.gwtest.yaml', cases(...lines))
    return gwctl(['-v'])
  }
  const REFUSAL = '{json: {action: {body: not here, status_code: 418, reason: rude}}}'

  test.each([
    ['all guards pass', asking('hello', 'status: 200, guard: {regex: Allow, webhook: Allow}')],
    [
      'a request is masked',
      asking(
        'it is 123-45-6789',
        'guard: {regex: Mask}, guard.webhook: Allow, "upstream.json.messages[0].content": {notContains: "123-45-6789"}',
      ),
    ],
    ['a request is rejected', asking('forbidden', 'status: 403, guard: {regex: Reject, webhook: {absent: true}}')],
    ['a reply is masked', `stubs: {openai: {llm: {text: write to a@b.test}}}\n  ${asking('hi', 'guard.regex: Mask')}`],
    [
      'a service rejects the request',
      asking('hi', 'status: 418, body: not here, guard.webhook: Reject, calls: []', REFUSAL),
    ],
    ['a service is unreachable', asking('hi', 'status: 503, guard.webhook: Fail', '{unreachable: true}')],
    ['one of several results', asking('hi', 'guard.regex: {any: [Allow, Mask]}, guard: {webhook: {not: Reject}}')],
    [
      'each repetition',
      `repeat: 2\n  ${asking('hi', 'guard.webhook: [Allow, Reject]', `[{json: {action: {}}}, ${REFUSAL}]`)}`,
    ],
  ])('%s', async (_, lines) => {
    const { code, out, err } = await guarded(lines)
    expect({ code, err, out }).toMatchObject({ code: 0, err: '', out: expect.stringContaining('1 passed') })
  })

  test.each([
    [
      'passed',
      asking('hello', 'guard: {webhook: Reject}'),
      ['guard.webhook  expected "Reject", got "Allow"', 'guard: webhook on the request: allow  gateway.yaml:9'],
    ],
    [
      'masked',
      asking('it is 123-45-6789', 'guard.regex: Allow'),
      ['guard.regex  expected "Allow", got "Mask"', 'guard: regex on the request: mask: ssn  gateway.yaml:7'],
    ],
    [
      'rejected',
      asking('forbidden', 'guard.regex: Mask'),
      ['guard.regex  expected "Mask", got "Reject"', 'guard: regex on the request: reject: words  gateway.yaml:8'],
    ],
    [
      'did not run',
      asking('forbidden', 'guard: {webhook: Allow}'),
      ['guard.webhook  expected "Allow", got nothing', 'guard: regex on the request: reject: words  gateway.yaml:8'],
    ],
    [
      'rejected, even when only a status is expected',
      asking('hi', 'status: 200', REFUSAL),
      ['status  expected 200, got 418', 'guard: webhook on the request: reject: rude  gateway.yaml:9'],
    ],
  ])('a failure says that a guard %s, and where it is configured', async (_, lines, [field, decision]) => {
    const { code, out } = await guarded(lines)
    expect(code).toBe(1)
    expect(out).toContain(field)
    expect(out).toContain(`decided by ${decision}`)
  })
})

describe('a mistake in a test file', () => {
  test.each([
    ['request: {path: /limited}\n  expect: {statsu: 200}', 'GW102', '10:12', 'did you mean `status`?'],
    ['request: {path: /limited}\n  expect: {upstream.heder.x: 1}', 'GW102', '10:12', 'did you mean `header`?'],
    [
      'request: {path: /limited}\n  expect: {policy.jwtAuht: {absent: true}}',
      'GW102',
      '10:12',
      'did you mean `jwtAuth`?',
    ],
    [
      'request: {path: /limited}\n  expect: {policy: {crs: {absent: true}}}',
      'GW102',
      '10:21',
      'no policy is called `crs`',
    ],
    ['steps:\n  - {request: {path: /}, expect: {policy.x: 1}}', 'GW102', '10:35', 'no policy is called `x`'],
    ['request: {path: /limited}\n  expect: {status.x: 1}', 'GW111', '10:12', '`status` has no members'],
    ['request: {path: /limited}\n  expect: {header.X-A: 1}', 'GW111', '10:12', 'write `header.x-a`'],
    ['request: {path: /limited}\n  expect: {header: {X-A: 1}}', 'GW111', '10:21', 'write `x-a`'],
    ['request: {path: /limited}\n  expect: {upstream: {heder: {absent: true}}}', 'GW102', '10:23', '`header`'],
    ['request: {path: /limited}\n  expect: {llm: {tokens: 1}}', 'GW102', '10:18', '`inputTokens`'],
    ['request: {path: /limited}\n  expect: {"json.": 1}', 'GW111', '10:12', 'is not the path of a field'],
    ['request: {path: /limited}\n  expect: {body: {matches: "("}}', 'GW112', '10:29', 'RE2'],
    ['request: {path: /limited}\n  expect: {status: {lt: many}}', 'GW101', '10:25', 'a number'],
    ['request: {path: /limited}\n  expect: {status: {lt: 300, foo: 1}}', 'GW102', '10:30', '`foo` is not a matcher'],
    ['request: {path: /limited}\n  expect: {status: [200, 201]}', 'GW109', '10:20', '`{any: [...]}`'],
    ['repeat: 2\n  request: {path: /limited}\n  expect: {status: [200]}', 'GW109', '11:20', '1 for 2'],
    ['request: {path: /limited}', 'GW111', '8:3', 'could never fail'],
    ['expect: {status: 200}', 'GW107', '8:3', '`request`'],
    ['request: {pth: /limited}\n  expect: {status: 200}', 'GW102', '9:13', 'did you mean `path`?'],
    ['request: {path: limited}\n  expect: {status: 200}', 'GW106', '9:19', 'starts with /'],
    ['request: {url: /limited}\n  expect: {status: 200}', 'GW106', '9:18', 'absolute'],
    ['request: {url: "http://[", path: /}\n  expect: {status: 200}', 'GW108', '', 'path'],
    ['request: {method: GET}\n  expect: {status: 200}', 'GW107', '', 'url'],
    ['request: {path: /, user: hey}\n  expect: {status: 200}', 'GW111', '9:22', 'goes with `llm`'],
    ['request: {path: /}\n  repeat: 0\n  expect: {status: 200}', 'GW105', '10:11', ''],
    ['request: {path: /}\n  expect: {guard: {regx: Mask}}', 'GW102', '10:20', 'did you mean `regex`?'],
    ['request: {path: /}\n  expect: {guard.webhok: {absent: true}}', 'GW102', '10:12', 'did you mean `webhook`?'],
    ['steps: []', 'GW109', '9:10', ''],
    ['request: {path: /}\n  expect: {json.list[0].name: a}', 'GW001', '10:21', 'write it like `json.list.0.name`'],
    ['request: {path: /, method: post}\n  expect: {status: 200}', 'GW106', '9:30', 'capitals'],
    ['request: {path: "/a b"}\n  expect: {status: 200}', 'GW106', '9:19', 'no spaces'],
    [
      'request: {path: /, headers: {"a b": c}}\n  expect: {status: 200}',
      'GW106',
      '9:32',
      'not the name of a header field',
    ],
    ['request: {path: /, headers: {a: "b\\r\\nc: d"}}\n  expect: {status: 200}', 'GW106', '9:35', 'without control'],
  ])('%s', async (lines, code, place, words) => {
    const { code: exit, out } = await run(lines)
    expect(exit).toBe(2)
    expect(out).toContain(`[${code}]`)
    expect(out).toContain(`--> a.gwtest.yaml:${place}`)
    expect(out).toContain(words)
    // No command corrects test files.
    expect(out).not.toContain('fixable')
    expect(out).toContain('✖ a.gwtest.yaml: nothing of it ran')
  })

  test.each([
    ['', 'GW103'],
    ['cases: []\n', 'GW109'],
    ['- a\n', 'GW101'],
    ['cases: [\n', 'GW001'],
    ['time: yesterday\ncases: [{name: a, request: {path: /}, expect: {status: 200}}]\n', 'GW106'],
    ['cases: [{name: a, request: {path: /}, expect: {status: 200}}]\n', 'GW103'],
    ['config: nowhere.yaml\ncases: [{name: a, request: {path: /}, expect: {status: 200}}]\n', 'GW207'],
    [`cases: [${'{name: a, request: {path: /}, expect: {status: 200}},'.repeat(2)}]\n`, 'GW203'],
    ['config: a.gwtest.yaml\ncases: [{name: a, request: {path: /}, expect: {status: 200}}]\n', 'GW207'],
    ['a: &a [*a]\n', 'GW'],
    [`cases: ${'['.repeat(3000)}\n`, 'GW'],
  ])('a file of %j', async (text, code) => {
    write('a.gwtest.yaml', text)
    const { code: exit, out } = await gwctl([])
    expect(exit).toBe(2)
    expect(out).toContain(`error[${code}`)
  })

  test('is part of the text on stdout, even with --quiet, and goes to stderr with other reports', async () => {
    write('a.gwtest.yaml', 'cases: 1\n')
    expect(await gwctl(['-q'])).toMatchObject({ code: 2, out: expect.stringContaining('error[GW101]'), err: '' })
    const { out, err } = await gwctl(['-o', 'tap'])
    expect(out).not.toContain('GW101')
    expect(err).toContain('error[GW101]')
  })

  test('is reported when a configuration is given in place of a test file, or vice versa', async () => {
    write('gateway.yaml', CONFIG)
    write('a.gwtest.yaml', cases(`${ADMIN}\n  expect: {status: 200}`))
    const taken = await gwctl(['gateway.yaml'])
    expect(taken).toMatchObject({ code: 2, out: expect.stringContaining('this is a configuration, and holds no test') })
    const io = memoryIo({ cwd: folder })
    expect(await main(['route', '-f', 'a.gwtest.yaml', '/'], io, root)).toBe(3)
    expect(io.stderr.text).toContain('a.gwtest.yaml holds test cases, not a configuration.')
  })

  test('does not keep the other files from running', async () => {
    write('gateway.yaml', CONFIG)
    write('a.gwtest.yaml', 'cases: 1\n')
    write('b.gwtest.yaml', cases(`${ADMIN}\n  expect: {status: 200}`))
    const { code, out } = await gwctl([])
    expect(code).toBe(2)
    expect(out).toContain('1 could not run, 1 passed in 2 files')
  })
})

describe('test selection', () => {
  const PASSES = `${ADMIN}\n  expect: {status: 200}`
  const FAILS = `${ADMIN}\n  expect: {status: 201}`

  test('runs every test file below the directory, or those named', async () => {
    write('gateway.yaml', CONFIG)
    write('a.gwtest.yaml', cases(PASSES))
    write('deep/er/b.gwtest.yaml', cases(PASSES).replace('gateway.yaml', '../../gateway.yaml'))
    write('deep/other.yaml', cases(FAILS))
    write('.hidden/c.gwtest.yaml', cases(FAILS))
    write('node_modules/d.gwtest.yaml', cases(FAILS))
    expect((await gwctl([])).out).toContain('2 passed in 2 files')
    expect((await gwctl(['deep'])).out).toContain('1 passed in 1 file')
    expect((await gwctl(['**/*.yaml'])).out).toContain('2 passed in 2 files')
    expect((await gwctl(['deep/other.yaml', '--config', 'gateway.yaml'])).code).toBe(1)
    expect((await gwctl(['-', '--config', 'gateway.yaml'], { stdin: cases(PASSES) })).code).toBe(0)
  })

  test('reports unreadable files and runs the rest', async () => {
    write('gateway.yaml', CONFIG)
    write('a.gwtest.yaml', 'a\0b')
    write('b.gwtest.yaml', cases(PASSES))
    const { code, out } = await gwctl([])
    expect(code).toBe(2)
    expect(out).toContain('1 could not run, 1 passed in 2 files')
    expect(out).toContain('error[GW007]: a.gwtest.yaml is a binary file')
    expect((await gwctl(['a.gwtest.yaml'])).code).toBe(3)
    expect((await gwctl(['b.gwtest.yaml', '--config', 'nowhere.yaml'])).code).toBe(3)
    expect((await gwctl(['b.gwtest.yaml', '--config', '-'], { stdin: CONFIG })).code).toBe(0)
  })

  test('tests resources in a directory', async () => {
    write(
      'k8s/gateway.yaml',
      `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: agentgateway, listeners: [{name: http, port: 80, protocol: HTTP}]}
`,
    )
    write(
      'k8s/route.yaml',
      `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: moved}
spec:
  parentRefs: [{name: web}]
  rules:
  - filters: [{type: RequestRedirect, requestRedirect: {hostname: new.test, statusCode: 301}}]
`,
    )
    write(
      'a.gwtest.yaml',
      'config: k8s\ncases:\n- name: moved\n  request: {path: /a}\n  expect: {status: 301, header.location: {contains: new.test}}\n',
    )
    expect(await gwctl([])).toMatchObject({ code: 0, err: '' })
    write('a.gwtest.yaml', 'config: k8s\ncases:\n- name: moved\n  request: {path: /a}\n  expect: {status: 302}\n')
    expect((await gwctl([])).out).toContain('requestRedirect: replied (route): answered 301  k8s/route.yaml:7\n')
  })

  test('fails when there is nothing to run', async () => {
    const { code, err } = await gwctl([])
    expect(code).toBe(3)
    expect(err).toContain('there is no *.gwtest.yaml in .')
    write('gateway.yaml', CONFIG)
    expect((await gwctl(['.'])).err).toContain('none is named so')
    expect((await gwctl(['a.gwtest.yaml'])).code).toBe(3)
    write('a.gwtest.yaml', cases(PASSES))
    expect(await gwctl(['--filter', 'nothing'])).toMatchObject({ code: 3, err: expect.stringContaining('nothing') })
    expect((await gwctl(['--shard', '2/2'])).code).toBe(3)
  })

  test('runs a selection of the cases', async () => {
    write('gateway.yaml', CONFIG)
    write(
      'a.gwtest.yaml',
      cases(
        `name: good\n  ${PASSES}`,
        `name: bad\n  ${FAILS}`,
        `name: worse\n  ${FAILS}`,
        `name: left\n  skip: later\n  ${FAILS}`,
      ),
    )
    expect((await gwctl(['--filter', '^good$'])).out).toContain('✓ 1 passed in')
    expect((await gwctl(['--bail'])).out).toContain('✖ 1 failed, 1 passed in')
    expect((await gwctl([])).out).toContain('✖ 2 failed, 1 passed, 1 skipped in')
    const parts = await Promise.all([1, 2, 3].map(async i => (await gwctl(['--shard', `${i}/3`, '-v'])).out))
    expect(parts.map(out => out.match(/^ {2}[✓✖-] \w+/gm)?.map(line => line.slice(4)))).toEqual([
      ['good', 'left'],
      ['bad'],
      ['worse'],
    ])
  })

  test.each([
    ['--shard', '4/3'],
    ['--shard', '0/3'],
    ['--filter', '('],
    ['--fail-under', '101'],
    ['-o', 'html'],
    ['--coverage=html'],
  ])('rejects %s %s', async (...argv) => {
    write('a.gwtest.yaml', cases(PASSES))
    expect((await gwctl(argv)).code).toBe(2)
  })

  test('--watch runs again on every change until stopped', async () => {
    write('gateway.yaml', CONFIG)
    write('tests/a.gwtest.yaml', cases(FAILS).replace('gateway.yaml', '../gateway.yaml'))
    const io = memoryIo({ cwd: folder })
    const ended = main(['test', 'tests', '--watch'], io, root)
    await expect.poll(() => io.stderr.text).toContain('Waiting for changes')
    expect(io.stdout.text).toContain('1 failed')
    write('tests/a.gwtest.yaml', cases(PASSES).replace('gateway.yaml', '../gateway.yaml'))
    await expect.poll(() => io.stdout.text).toContain('✓ 1 passed')
    write('gateway.yaml', CONFIG.replace('"admin"', '"owner"'))
    await expect.poll(() => io.stdout.text.match(/1 failed/g)?.length).toBeGreaterThan(1)
    io.stop.abort(new Failure('interrupted', 'stopped'))
    expect(await ended).toBe(130)
  })

  test('--watch picks up new tests and configurations, and ignores those no longer tested', async () => {
    mkdirSync(join(folder, 'tests'))
    const io = memoryIo({ cwd: folder })
    const ended = main(['test', 'tests', '--watch'], io, root)
    await expect.poll(() => io.stderr.text).toContain('there is no *.gwtest.yaml in tests')
    write('tests/a.gwtest.yaml', cases(PASSES).replace('gateway.yaml', '../later/gateway.yaml'))
    await expect.poll(() => io.stdout.text).toContain('later/gateway.yaml does not exist')
    expect(io.stdout.text).toContain('the path is relative to this file')
    write('later/gateway.yaml', CONFIG)
    await expect.poll(() => io.stdout.text).toContain('✓ 1 passed')
    write('tests/b.gwtest.yaml', cases(PASSES).replace('gateway.yaml', '../third.yaml'))
    await expect.poll(() => io.stdout.text).toContain('1 could not run, 1 passed')
    write('third.yaml', CONFIG)
    await expect.poll(() => io.stdout.text).toContain('✓ 2 passed')
    io.stop.abort(new Failure('interrupted', 'stopped'))
    expect(await ended).toBe(130)
  })
})

test('stdin cannot be watched', async () => {
  expect(await gwctl(['-', '--watch'])).toMatchObject({ code: 2, err: expect.stringContaining('stdin cannot') })
})

describe('--live', () => {
  const LIVE = `binds:
- port: 80
  listeners:
  - routes:
    - {matches: [{path: {exact: /hello}}], policies: {directResponse: {status: 203, body: '{"a":{"b":1}}'}}}
    - {matches: [{path: {exact: /host}, headers: [{name: ':authority', value: {exact: own.test}}]}], policies: {directResponse: {status: 204}}}
`

  test('sends the same cases to a running gateway, and compares only what clients see', async () => {
    await using gateway = await startGateway(LIVE)
    write(
      'a.gwtest.yaml',
      `config: nowhere.yaml
cases:
- {name: seen, request: {path: /hello}, expect: {status: 203, json.a.b: 1, route: not compared, upstream.path: neither}}
- {name: wrong, request: {path: /hello}, expect: {status: 200}}
- {name: by its host, request: {url: 'http://own.test/host'}, expect: {status: 204}}
- {name: by its host too, request: {path: /host, host: own.test}, expect: {status: 204}}
- {name: as it is written, request: {path: //other.test/hello}, expect: {status: 404}}
- {name: claims, request: {path: /hello, jwt: {}}, expect: {status: 203}}
- {name: inside, request: {path: /hello}, expect: {reason: DirectResponse}}
- {name: clock, steps: [{advance: 1s, request: {path: /hello}, expect: {status: 203}}]}
`,
    )
    const { code, out } = await gwctl(['--live', gateway.url(80), '-v'])
    expect(code).toBe(1)
    expect(out.match(/^ {2}[✓✖-] .*(?= {2}line)/gm)).toEqual([
      '  ✓ seen',
      '  ✖ wrong',
      '  ✓ by its host',
      '  ✓ by its host too',
      '  ✓ as it is written',
      '  - claims: `jwt` is made up, which a running gateway does not believe',
      '  - inside: it checks what only the gateway itself sees',
      '  - clock: a running gateway goes by its own clock',
    ])
    expect(out).toContain('status  expected 200, got 203')
  })

  test('uses the host of a case, or its `sni`, for TLS', async () => {
    const own = createCertificate(createAuthority('live'), ['*.test'])
    const listener = (name: string, status: number) =>
      `  - {hostname: ${name}.test, protocol: HTTPS, tls: {cert: c.pem, key: k.pem}, routes: [{policies: {directResponse: {status: ${status}}}}]}\n`
    const config = `binds:\n- port: 443\n  listeners:\n${listener('api', 201)}${listener('web', 202)}`
    await using gateway = await startGateway(config, { files: { 'c.pem': own.cert, 'k.pem': own.key } })
    write(
      'a.gwtest.yaml',
      `cases:
- {name: host, request: {path: /, host: web.test}, expect: {status: 202}}
- {name: sni, request: {path: /, host: web.test, sni: api.test}, expect: {status: 421}}
`,
    )
    const live = gateway.url(443).replace('http:', 'https:')
    expect(await gwctl(['--live', live])).toMatchObject({ code: 0, out: expect.stringContaining('2 passed') })
  })

  test('closes the MCP sessions it opened', async () => {
    const seen: string[] = []
    const server = createServer(async (request, reply) => {
      const text = Buffer.concat(await request.toArray()).toString()
      const { id, method } = (text === '' ? {} : JSON.parse(text)) as { id?: number; method?: string }
      const session = request.headers['mcp-session-id'] ?? ''
      seen.push(`${request.method} ${request.url} ${method ?? ''} ${session} ${request.headers['x-who']}`)
      const opened = method === 'initialize' ? { 'mcp-session-id': `s${seen.length}` } : {}
      reply.writeHead(200, { 'content-type': 'application/json', ...opened })
      reply.end(JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [] } }))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const who = 'path: /tools, headers: {x-who: ann}'
    write(
      'a.gwtest.yaml',
      `config: nowhere.yaml
cases:
- {name: list, repeat: 2, request: {mcp: tools/list, ${who}}, expect: {status: 200}}
- {name: greeting, request: {mcp: initialize, ${who}}, expect: {status: 201}}
`,
    )
    const { code } = await gwctl(['--live', `http://127.0.0.1:${(server.address() as AddressInfo).port}`])
    server.close()
    expect(code).toBe(1)
    expect(seen).toEqual([
      'POST /tools initialize  ann',
      'POST /tools notifications/initialized s1 ann',
      'POST /tools tools/list s1 ann',
      'POST /tools tools/list s1 ann',
      'DELETE /tools  s1 ann',
      'POST /tools initialize  ann',
      'DELETE /tools  s6 ann',
    ])
  })

  test('exits with 4 for an unreachable gateway, and with 2 for an invalid URL', async () => {
    write('a.gwtest.yaml', cases(`request: {path: /}\n  expect: {status: 200}`))
    const url = 'http://127.0.0.1:1'
    expect(await gwctl(['--live', url])).toMatchObject({ code: 4, err: expect.stringContaining('cannot be reached') })
    expect((await gwctl(['--live', 'localhost:80'])).code).toBe(2)
    expect((await gwctl(['--live', `${url}/prefix`])).code).toBe(2)
    expect((await gwctl(['--live', url, '--coverage'])).code).toBe(2)
  })
})

describe('reports', () => {
  const LINES = [
    `name: good & <fine>\n  ${ADMIN}\n  expect: {status: 200}`,
    `name: 'bad # one'\n  ${ADMIN}\n  expect: {status: 500}`,
    `name: left\n  skip: later\n  ${ADMIN}\n  expect: {status: 500}`,
  ]

  beforeEach(() => {
    write('gateway.yaml', CONFIG)
    write('a.gwtest.yaml', cases(...LINES))
    write('b.gwtest.yaml', 'cases: 1\n')
  })

  test('JSON', async () => {
    const { code, out } = await gwctl(['--json', '--coverage=json'])
    expect(code).toBe(2)
    const { version, summary, files, coverage } = JSON.parse(out)
    expect(version).toBe(1)
    expect(summary).toMatchObject({ passed: 1, failed: 1, skipped: 1, broken: 1, files: 2 })
    expect(files[0].cases[1]).toMatchObject({
      name: 'bad # one',
      line: 11,
      state: 'failed',
      failures: [
        {
          fields: [{ field: 'status', expected: '500', actual: '200' }],
          decidedBy: { file: 'gateway.yaml', line: 18 },
        },
      ],
    })
    expect(files[1]).toMatchObject({ broken: true, diagnostics: [{ code: 'GW101' }] })
    expect(coverage.parts).toContainEqual({ kind: 'route', name: 'guarded', file: 'gateway.yaml', line: 10, hits: 2 })
    expect(JSON.parse(readFileSync(join(folder, 'coverage.json'), 'utf8'))).toEqual(coverage)
  })

  test('TAP', async () => {
    const { out } = await gwctl(['-o', 'tap'])
    expect(out).toContain('TAP version 14\n1..4\nok 1 - a.gwtest.yaml: good & <fine>\n')
    expect(out).toContain('not ok 2 - a.gwtest.yaml: bad \\# one\n  ---\n  at: "a.gwtest.yaml:11"\n')
    expect(out).toContain('ok 3 - a.gwtest.yaml: left # SKIP later\n')
    expect(out).toContain('not ok 4 - b.gwtest.yaml: nothing of it ran\n')
  })

  test('JUnit, along with the text', async () => {
    const { out } = await gwctl(['-o', 'junit=test.xml'])
    expect(out).toContain('✖ 1 failed, 1 could not run, 1 passed, 1 skipped in 2 files')
    const xml = readFileSync(join(folder, 'test.xml'), 'utf8')
    expect(xml).toContain('<testsuites name="gwctl test" tests="4" failures="1" errors="1" time="')
    expect(xml).toContain('<testcase name="good &amp; &lt;fine&gt;" classname="a.gwtest.yaml"')
    expect(xml).toContain('<failure message="status: expected 500, got 200">')
    expect(xml).toContain('<skipped>later</skipped>')
    expect(xml).toMatch(/<error message="1:8: GW101 /)
  })

  test('GitHub', async () => {
    const { out } = await gwctl(['-o', 'github'])
    expect(out).toContain('::error file=a.gwtest.yaml,line=11,title=bad # one::status: expected 500, got 200%0A')
    expect(out).toMatch(/^::error file=b\.gwtest\.yaml,line=1,.*title=GW101::/m)
    const { err } = await gwctl([], { env: { GITHUB_ACTIONS: 'true' } })
    expect(err).toContain('::error file=a.gwtest.yaml,line=11')
  })

  test('names in a file cannot inject terminal or workflow commands', async () => {
    rmSync(join(folder, 'b.gwtest.yaml'))
    write('a.gwtest.yaml', cases(`name: "x\\e[31m\\n::error::y"\n  ${ADMIN}\n  expect: {json.text: "\\e[2J"}`))
    for (const format of ['text', 'tap', 'github', 'junit']) {
      const { out } = await gwctl(['-o', format])
      expect(out).not.toContain('\u001b')
      expect(out).not.toMatch(/^::error::/m)
    }
  })
})

describe('coverage', () => {
  test('lists what no request reached', async () => {
    write('gateway.yaml', CONFIG)
    write('a.gwtest.yaml', cases(`${ADMIN}\n  expect: {status: 200}`))
    const { code, out } = await gwctl(['--coverage'])
    expect(code).toBe(0)
    expect(out).toContain('  route    limited  gateway.yaml:5\n')
    expect(out).toContain('  policy   limited/localRateLimit  gateway.yaml:8\n')
    expect(out).not.toContain('guarded/jwtAuth')
    expect(out).toMatch(/Coverage 21.8 %: listeners 1\/2, routes 1\/7, policies 3\/10, rules 1\/6, backends 1\/7\n$/)
    expect((await gwctl(['--fail-under', '21'])).code).toBe(0)
    expect(await gwctl(['--fail-under', '90'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('less than the 90 % of --fail-under'),
    })
  })

  test('lists rules that never decided, wherever they are configured', async () => {
    write(
      'gateway.yaml',
      `frontendPolicies:
  networkAuthorization: {rules: [{deny: 'source.address == "10.1.1.1"'}]}
binds:
- port: 3000
  listeners:
  - policies: {authorization: {rules: ['request.method != "PUT"', {deny: 'request.path == "/no"'}]}}
    routes:
    - name: api
      policies:
        authorization:
          rules:
          - require: 'request.path != "/it''s"'
        directResponse: {status: 200}
    - name: tools
      matches: [{path: {pathPrefix: /mcp}}]
      policies:
        mcpAuthorization: {rules: [{require: 'mcp.tool.name != "c"'}]}
      backends:
      - mcp: {targets: [{name: t, mcp: {host: h.test}}]}
        policies:
          mcpAuthorization:
            rules:
            - 'mcp.tool.name == "echo"'
            - {deny: 'mcp.tool.name == "b"'}
            - deny: >-
                mcp.tool.name
                == "zz"
`,
    )
    const tools = `stubs: {t: {mcp: {tools: [echo, b, c]}}}, request: {mcp: tools/list}, expect: {mcp.tools: [echo]}`
    write('a.gwtest.yaml', `config: gateway.yaml\ncases:\n- {name: items, ${tools}}\n`)
    const few = await gwctl(['--coverage'])
    expect(few.out.match(/^ {2}rule .*/gm)).toEqual([
      '  rule     port 3000/networkAuthorization: deny source.address == "10.1.1.1"  gateway.yaml:2',
      '  rule     listener0/authorization: deny request.path == "/no"  gateway.yaml:6',
      '  rule     api/authorization: require request.path != "/it\'s"  gateway.yaml:12',
      '  rule     tools/mcpAuthorization: deny mcp.tool.name == "zz"  gateway.yaml:26',
    ])
    expect(few.out).toContain('rules 4/8')
    write(
      'b.gwtest.yaml',
      `config: gateway.yaml
cases:
- {name: no, request: {path: /no}, expect: {status: 403}}
- {name: its, request: {path: "/it's"}, expect: {status: 403}}
- {name: out, request: {path: /, source: 10.1.1.1}, expect: {status: {absent: true}, reason: Connection}}
`,
    )
    expect(await gwctl(['--coverage=json=-'])).toMatchObject({ code: 2, out: '' })
    await gwctl(['--coverage=json'])
    const { parts } = JSON.parse(readFileSync(join(folder, 'coverage.json'), 'utf8')) as {
      parts: { kind: string; name: string; line: number; hits: number }[]
    }
    const rules = parts.filter(({ kind, hits }) => kind === 'rule' && hits === 0)
    expect(rules).toMatchObject([{ name: 'tools/mcpAuthorization: deny mcp.tool.name == "zz"', line: 26 }])
  })

  test('distinguishes rules whose texts contain one another', async () => {
    write(
      'gateway.yaml',
      `binds:
- port: 80
  listeners:
  - routes:
    - name: api
      policies:
        authorization:
          rules:
          - deny: '!(request.path == "/x")'
          - {require: 'request.path == "/x"'}
          - deny: request.path == "/x"
        directResponse: {status: 200}
`,
    )
    write('a.gwtest.yaml', 'config: gateway.yaml\ncases: [{name: x, request: {path: /}, expect: {status: 403}}]\n')
    const { out } = await gwctl(['--coverage'])
    expect(out).toContain('  rule     api/authorization: deny request.path == "/x"  gateway.yaml:11\n')
    await gwctl(['--coverage=lcov'])
    expect(readFileSync(join(folder, 'lcov.info'), 'utf8')).toMatch(/DA:9,1\nDA:10,1\nDA:11,0\n/)
  })

  test('counts configuration lines in lcov format', async () => {
    write('gateway.yaml', CONFIG)
    write('a.gwtest.yaml', cases(`repeat: 2\n  ${ADMIN}\n  expect: {status: 200}`))
    expect(await gwctl(['--coverage=lcov'])).toMatchObject({ code: 0, err: 'Wrote lcov.info.\n' })
    const lines = readFileSync(join(folder, 'lcov.info'), 'utf8').split('\n')
    expect(lines[1]).toBe('SF:gateway.yaml')
    expect(lines).toContain('FN:10,route guarded')
    expect(lines).toContain('FNDA:2,route guarded')
    expect(lines).toContain('FNDA:0,route limited')
    // The last line of the rules of authorization, and the rate limit that nobody met.
    expect(lines).toContain('DA:16,2')
    expect(lines).toContain('DA:8,0')
    const found = lines.filter(line => line.startsWith('DA:'))
    expect(lines).toContain(`LF:${found.length}`)
    expect(lines).toContain(`LH:${found.filter(line => !line.endsWith(',0')).length}`)
  })
})

// What a client can do to an expression that guards something.
import { describe, expect, test } from 'vitest'
import { startGateway } from '../../helpers/gateway.ts'
import { rawRequest } from '../../helpers/upstream.ts'

const OK = 'directResponse: {status: 200, body: in}'
const yaml = (policies: string, frontend = '') => `
${frontend}
binds:
  - port: 8080
    listeners:
      - routes:
          - policies: {${policies}}
`
const SMALL = 'frontendPolicies: {http: {maxBufferSize: 1024}}'
const deny = (when: string) => `authorization: {rules: [{deny: ${JSON.stringify(when)}}]}, ${OK}`

type Sent = { body?: Buffer | string; headers?: [string, string][]; path?: string }

async function ask(url: string, { body, headers = [], path = '/' }: Sent) {
  const bytes = body === undefined ? undefined : Buffer.from(body)
  const fields = [...headers, ...(bytes ? [['content-length', String(bytes.length)]] : [])]
  const head = [`${bytes ? 'POST' : 'GET'} ${path} HTTP/1.1`, 'host: a.test', 'connection: close']
  const lines = [...head, ...fields.map(field => field.join(': '))].join('\r\n')
  const answer = await rawRequest(url, `${lines}\r\n\r\n${bytes?.toString('latin1') ?? ''}`)
  return { status: Number(answer.slice(9, 12)), text: answer.slice(answer.indexOf('\r\n\r\n') + 4) }
}

const BAD = '{"role":"bad"}'
const ROLE = 'json(request.body).role == "bad"'

describe('a deny rule that cannot be evaluated denies', () => {
  test.each<[string, string, Sent]>([
    ['a plain match', ROLE, { body: BAD }],
    [
      'an element without the field',
      'json(request.body).filter(m, m.role == "bad").size() > 0',
      { body: `[${BAD},{}]` },
    ],
    [
      'an element without the field, mapped',
      'json(request.body).map(m, m.role).exists(r, r == "bad")',
      { body: `[${BAD},{}]` },
    ],
    ['a map in place of a list', 'json(request.body).a[0] == "bad"', { body: '{"a":{"0":"bad"}}' }],
    [
      'a substring of a header sent twice',
      'request.headers["x-a"].contains("bad")',
      {
        headers: [
          ['x-a', 'a bad one'],
          ['x-a', 'b'],
        ],
      },
    ],
    [
      'the length of a header sent twice',
      'size(request.headers["x-a"]) > 5',
      {
        headers: [
          ['x-a', 'a bad one'],
          ['x-a', 'b'],
        ],
      },
    ],
    [
      'a header sent twice, as a key',
      'request.headers["x-a"] in {"bad": 1}',
      {
        headers: [
          ['x-a', 'bad'],
          ['x-a', 'bad'],
        ],
      },
    ],
    ['a second cookie', 'request.headers.cookie("role") == "bad"', { headers: [['cookie', 'role=good; role=bad']] }],
    ['a byte order mark', ROLE, { body: `\ufeff${BAD}` }],
    ['UTF-16', ROLE, { body: Buffer.from(BAD, 'utf16le') }],
    [
      'an invalid byte',
      ROLE,
      { body: Buffer.concat([Buffer.from('{"x":"'), Buffer.of(0xff), Buffer.from('","role":"bad"}')]) },
    ],
    ['a comment', ROLE, { body: `/**/${BAD}` }],
    ['a body that is too long', ROLE, { body: `{"pad":"${'x'.repeat(2000)}","role":"bad"}` }],
    [
      'a body that is too long, guarded by has()',
      `has(request.body) && ${ROLE}`,
      { body: `${' '.repeat(2000)}${BAD}` },
    ],
    ['a body that is too long, with a default', `default(${ROLE}, false)`, { body: `${' '.repeat(2000)}${BAD}` }],
    [
      'a body that is too long, in an optional',
      'json(request.?body.orValue(b"{}")).role == "bad"',
      { body: ' '.repeat(2000) + BAD },
    ],
    ['another type along the path', 'json(request.body).user.role == "bad"', { body: '{"user":[{"role":"bad"}]}' }],
    ['null along the path', 'json(request.body).user.role == "bad"', { body: '{"user":null}' }],
    [
      'another type along the path, with a default',
      'default(json(request.body).user.role, "") == "bad"',
      { body: '{"user":"bad"}' },
    ],
    ['an error that coalesce would skip', 'coalesce(json(request.body).role, "") == "bad"', { body: `\ufeff${BAD}` }],
    ['text that is not a number', 'int(request.headers["x-n"]) > 5', { headers: [['x-n', '6.']] }],
    ['a number beyond 64 bits', 'int(request.headers["x-n"]) > 5', { headers: [['x-n', '99999999999999999999']] }],
    [
      'a header sent twice',
      'request.headers["x-plan"] == "bad"',
      {
        headers: [
          ['x-plan', 'bad'],
          ['x-plan', 'bad'],
        ],
      },
    ],
    [
      'a header sent twice, in a list',
      'request.headers["x-plan"] in ["bad"]',
      {
        headers: [
          ['x-plan', 'bad'],
          ['x-plan', 'bad'],
        ],
      },
    ],
    [
      'more elements than are inspected',
      'request.path.split("/").exists(p, p == "bad")',
      { path: `${'/'.repeat(52_000)}bad` },
    ],
    ['many elements in JSON', 'json(request.body).exists(p, p == "bad")', { body: `[${'1,'.repeat(101_000)}"bad"]` }],
    [
      'an absent value before an unreadable one',
      `request.headers["x-none"] == "1" || ${ROLE}`,
      { body: `\ufeff${BAD}` },
    ],
    [
      'an unreadable value before an absent one',
      `${ROLE} || request.headers["x-none"] == "1"`,
      { body: `\ufeff${BAD}` },
    ],
    ['a duplicate member', ROLE, { body: '{"role":"bad","role":"good"}' }],
    [
      'a duplicate member, once escaped, deeply nested',
      ROLE,
      { body: '{"role":"bad","x":[{"a":":\\"","\\u0061":1}]}' },
    ],
    ['elements with different faults', 'json(request.body).exists(m, m.role == "bad")', { body: '[{},"",{}]' }],
    [
      'a malformed token',
      'unvalidatedJwtPayload(request.headers.authorization).sub == "bad"',
      { headers: [['authorization', 'a.b.c']] },
    ],
    [
      'an IPv4-mapped address',
      'cidr("10.0.0.0/8").containsIP(request.headers["x-ip"])',
      { headers: [['x-ip', '::ffff:10.0.0.1']] },
    ],
  ])('%s', async (_, when, sent) => {
    await using gateway = await startGateway(
      yaml(deny(when), sent.body !== undefined && sent.body.length < 5000 ? SMALL : ''),
    )
    expect(await ask(gateway.url(8080), sent)).toMatchObject({ status: 403 })
  })

  test.each<[string, string, Sent]>([
    ['a header', 'request.headers["x-none"] == "1"', {}],
    ['a field', ROLE, { body: '{}' }],
    ['the body', ROLE, {}],
    ['a member (siblings repeat names)', ROLE, { body: '{"x":[{"a":"b:c"},{"a":"\\":"}]}' }],
    ['an element', 'json(request.body)[3] == 1', { body: '[1]' }],
    ['the token', 'jwt.groups.admin == true', {}],
    ['an optional value', 'jwt.?blocked', {}],
    ['the value of an optional', 'jwt.?plan.value() == "free"', {}],
  ])('a deny rule on %s that is missing does not', async (_, when, sent) => {
    await using gateway = await startGateway(yaml(deny(when), SMALL))
    expect(await ask(gateway.url(8080), sent)).toEqual({ status: 200, text: 'in' })
  })

  test('conditions before the failing one still decide', async () => {
    await using gateway = await startGateway(yaml(deny(`request.path == "/guarded" && ${ROLE}`), SMALL))
    expect((await ask(gateway.url(8080), { path: '/open', body: 'no JSON' })).status).toBe(200)
    expect((await ask(gateway.url(8080), { path: '/guarded', body: 'no JSON' })).status).toBe(403)
  })

  test('a metadata value that a transformation could not compute', async () => {
    const gateways = `
binds:
  - port: 8080
    listeners:
      - policies: {transformations: {request: {metadata: {role: 'default(json(request.body).role, "none")'}}}}
        routes: [{policies: {${deny('metadata.role == "bad"')}}}]
`
    await using gateway = await startGateway(gateways)
    expect((await ask(gateway.url(8080), { body: '{}' })).status).toBe(200)
    expect((await ask(gateway.url(8080), { body: `\ufeff${BAD}` })).status).toBe(403)
  })
})

describe('a condition that cannot be evaluated', () => {
  const limits = `localRateLimit: {conditional: [{condition: '${ROLE}', requests: 1, unit: hours}, {requests: 100, unit: hours}]}, ${OK}`
  const block = `directResponse: {conditional: [{condition: '${ROLE}', status: 451, body: out}, {status: 200, body: in}]}`

  test.each([
    ['in a rate limit', limits],
    ['in a direct response', block],
  ])('%s rejects the request instead of skipping or applying the entry', async (_, policies) => {
    await using gateway = await startGateway(yaml(policies))
    expect((await ask(gateway.url(8080), { body: '{}' })).status).toBe(200)
    expect(await ask(gateway.url(8080), { body: `\ufeff${BAD}` })).toEqual({
      status: 403,
      text: 'a condition cannot be evaluated: the text is not JSON',
    })
  })
})

describe('an allow rule that reads an optional', () => {
  test.each([
    ['has(jwt.?groups.admin)'],
    ['has(jwt.?groups)'],
    ['jwt.?groups.admin.orValue(false)'],
    ['default(jwt.?groups.admin, false)'],
  ])('%s allows nobody without it', async when => {
    await using gateway = await startGateway(yaml(`authorization: {rules: [${JSON.stringify(when)}]}, ${OK}`))
    expect((await ask(gateway.url(8080), {})).status).toBe(403)
  })
})

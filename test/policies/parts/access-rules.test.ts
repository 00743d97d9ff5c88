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

describe('a deny that cannot be evaluated denies', () => {
  test.each<[string, string, Sent]>([
    ['plainly', ROLE, { body: BAD }],
    ['an element without it', 'json(request.body).filter(m, m.role == "bad").size() > 0', { body: `[${BAD},{}]` }],
    ['the same, mapped', 'json(request.body).map(m, m.role).exists(r, r == "bad")', { body: `[${BAD},{}]` }],
    ['a map in place of a list', 'json(request.body).a[0] == "bad"', { body: '{"a":{"0":"bad"}}' }],
    [
      'a part of a header sent twice',
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
    ['a byte-order mark', ROLE, { body: `\ufeff${BAD}` }],
    ['UTF-16', ROLE, { body: Buffer.from(BAD, 'utf16le') }],
    [
      'an invalid byte',
      ROLE,
      { body: Buffer.concat([Buffer.from('{"x":"'), Buffer.of(0xff), Buffer.from('","role":"bad"}')]) },
    ],
    ['a comment', ROLE, { body: `/**/${BAD}` }],
    ['a body that is too long', ROLE, { body: `{"pad":"${'x'.repeat(2000)}","role":"bad"}` }],
    ['the same, behind has()', `has(request.body) && ${ROLE}`, { body: `${' '.repeat(2000)}${BAD}` }],
    ['the same, with a default', `default(${ROLE}, false)`, { body: `${' '.repeat(2000)}${BAD}` }],
    [
      'the same, behind an optional',
      'json(request.?body.orValue(b"{}")).role == "bad"',
      { body: ' '.repeat(2000) + BAD },
    ],
    ['another type on the way', 'json(request.body).user.role == "bad"', { body: '{"user":[{"role":"bad"}]}' }],
    ['null on the way', 'json(request.body).user.role == "bad"', { body: '{"user":null}' }],
    [
      'another type on the way, with a default',
      'default(json(request.body).user.role, "") == "bad"',
      { body: '{"user":"bad"}' },
    ],
    ['what coalesce would pass over', 'coalesce(json(request.body).role, "") == "bad"', { body: `\ufeff${BAD}` }],
    ['text for a number', 'int(request.headers["x-n"]) > 5', { headers: [['x-n', '6.']] }],
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
      'the same, in a list',
      'request.headers["x-plan"] in ["bad"]',
      {
        headers: [
          ['x-plan', 'bad'],
          ['x-plan', 'bad'],
        ],
      },
    ],
    [
      'more elements than are looked at',
      'request.path.split("/").exists(p, p == "bad")',
      { path: `${'/'.repeat(52_000)}bad` },
    ],
    ['many elements in JSON', 'json(request.body).exists(p, p == "bad")', { body: `[${'1,'.repeat(101_000)}"bad"]` }],
    [
      'an absent value beside an unreadable one',
      `request.headers["x-none"] == "1" || ${ROLE}`,
      { body: `\ufeff${BAD}` },
    ],
    [
      'an unreadable value beside an absent one',
      `${ROLE} || request.headers["x-none"] == "1"`,
      { body: `\ufeff${BAD}` },
    ],
    ['a member that stands there twice', ROLE, { body: '{"role":"bad","role":"good"}' }],
    ['a member twice, once escaped, deep inside', ROLE, { body: '{"role":"bad","x":[{"a":":\\"","\\u0061":1}]}' }],
    ['elements of different faults', 'json(request.body).exists(m, m.role == "bad")', { body: '[{},"",{}]' }],
    [
      'a token that is none',
      'unvalidatedJwtPayload(request.headers.authorization).sub == "bad"',
      { headers: [['authorization', 'a.b.c']] },
    ],
    [
      'an address that is none',
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
    ['a member that other objects have too', ROLE, { body: '{"x":[{"a":"b:c"},{"a":"\\":"}]}' }],
    ['an element', 'json(request.body)[3] == 1', { body: '[1]' }],
    ['the token', 'jwt.groups.admin == true', {}],
    ['an optional', 'jwt.?blocked', {}],
    ['the value of an optional', 'jwt.?plan.value() == "free"', {}],
  ])('%s that is not there does not', async (_, when, sent) => {
    await using gateway = await startGateway(yaml(deny(when), SMALL))
    expect(await ask(gateway.url(8080), sent)).toEqual({ status: 200, text: 'in' })
  })

  test('what decides before it still decides', async () => {
    await using gateway = await startGateway(yaml(deny(`request.path == "/guarded" && ${ROLE}`), SMALL))
    expect((await ask(gateway.url(8080), { path: '/open', body: 'no JSON' })).status).toBe(200)
    expect((await ask(gateway.url(8080), { path: '/guarded', body: 'no JSON' })).status).toBe(403)
  })

  test('the value that a transformation could not compute', async () => {
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

describe('an entry whose condition cannot be evaluated', () => {
  const limits = `localRateLimit: {conditional: [{condition: '${ROLE}', requests: 1, unit: hours}, {requests: 100, unit: hours}]}, ${OK}`
  const block = `directResponse: {conditional: [{condition: '${ROLE}', status: 451, body: out}, {status: 200, body: in}]}`

  test.each([
    ['of a rate limit', limits],
    ['of a direct response', block],
  ])('%s is neither skipped nor applied', async (_, policies) => {
    await using gateway = await startGateway(yaml(policies))
    expect((await ask(gateway.url(8080), { body: '{}' })).status).toBe(200)
    expect(await ask(gateway.url(8080), { body: `\ufeff${BAD}` })).toEqual({
      status: 403,
      text: 'a condition cannot be evaluated: the text is not JSON',
    })
  })
})

describe('an allow that asks for an optional', () => {
  test.each([
    ['has(jwt.?groups.admin)'],
    ['has(jwt.?groups)'],
    ['jwt.?groups.admin.orValue(false)'],
    ['default(jwt.?groups.admin, false)'],
  ])('%s lets nobody in without it', async when => {
    await using gateway = await startGateway(yaml(`authorization: {rules: [${JSON.stringify(when)}]}, ${OK}`))
    expect((await ask(gateway.url(8080), {})).status).toBe(403)
  })
})

import { describe, expect, test } from 'vitest'
import type { Reply } from '../../src/http/exchange.ts'
import { cors } from '../../src/policies/cors.ts'
import { compile, exchange, fields, hooksOf, run } from './policy-fixture.ts'

const strict = {
  allowOrigins: ['https://app.example.com', 'https://*.apps.example.com', 'http://localhost:3000'],
  allowMethods: ['GET', 'POST'],
  allowHeaders: ['authorization', 'content-type'],
  exposeHeaders: ['x-request-id'],
  allowCredentials: true,
  maxAge: '90500ms',
}
const open = { allowOrigins: ['*'], allowMethods: ['*'], allowHeaders: ['*'] }

async function preflight(spec: object, origin: string, headers: readonly string[] = []) {
  const x = exchange({
    method: 'OPTIONS',
    headers: ['Origin', origin, 'Access-Control-Request-Method', 'PUT', ...headers],
  })
  return (await run(hooksOf(cors, spec), x)) as Reply
}

describe('preflight', () => {
  test('gets 200 and all headers the browser needs', async () => {
    const reply = await preflight(strict, 'https://app.example.com')
    expect(reply.status).toBe(200)
    expect(fields(reply.headers)).toEqual([
      'access-control-allow-origin: https://app.example.com',
      'access-control-allow-methods: GET,POST',
      'access-control-allow-headers: authorization,content-type',
      'access-control-allow-credentials: true',
      'access-control-expose-headers: x-request-id',
      'access-control-max-age: 90',
    ])
  })

  test('from another origin gets 200 without CORS headers', async () => {
    const reply = await preflight(strict, 'https://evil.com')
    expect([reply.status, reply.headers]).toEqual([200, []])
  })

  test('`*` echoes the requested values', async () => {
    const reply = await preflight(open, 'https://a.com', ['Access-Control-Request-Headers', 'X-A, x-b'])
    expect(fields(reply.headers)).toEqual([
      'access-control-allow-origin: https://a.com',
      'access-control-allow-methods: PUT',
      'access-control-allow-headers: X-A, x-b',
    ])
  })

  test('a literal `*` is sent only without credentials', async () => {
    expect(fields((await preflight(open, 'https://a.com')).headers)).toContain('access-control-allow-headers: *')
    const withCredentials = await preflight({ ...open, allowCredentials: true }, 'https://a.com')
    expect(fields(withCredentials.headers).join()).not.toContain('allow-headers')
  })

  test('other OPTIONS requests are answered for an allowed origin only', async () => {
    const from = (origin: string) => exchange({ method: 'OPTIONS', headers: ['Origin', origin] })
    expect(await run(hooksOf(cors, strict), from('https://app.example.com'))).toMatchObject({ status: 200 })
    expect(await run(hooksOf(cors, strict), from('https://evil.com'))).toBe('passed')
  })
})

describe('other requests', () => {
  test('pass, and their responses name the origin', async () => {
    const x = exchange({ headers: ['origin', 'https://app.example.com'] })
    expect(await run(hooksOf(cors, strict), x)).toBe('passed')
    expect(fields(x.queuedHeaders)).toEqual([
      'access-control-allow-origin: https://app.example.com',
      'access-control-allow-credentials: true',
      'access-control-expose-headers: x-request-id',
    ])
  })

  test('are unaffected without an Origin header', async () => {
    const x = exchange({ method: 'OPTIONS' })
    expect(await run(hooksOf(cors, strict), x)).toBe('passed')
    expect(x.queuedHeaders).toEqual([])
  })

  test.each([
    ['https://x.apps.example.com', true],
    ['https://x.y.apps.example.com', true],
    ['https://x.apps.example.com:443', true],
    ['HTTPS://APP.EXAMPLE.COM', true],
    ['http://localhost:3000', true],
    ['https://apps.example.com', false],
    ['https://.apps.example.com', false],
    ['https://xapps.example.com', false],
    ['https://x.apps.example.com:444', false],
    ['http://x.apps.example.com', false],
    ['http://localhost', false],
    ['http://localhost:30001', false],
    ['https://app.example.com.evil.org', false],
    ['https://x.apps.example.com.evil.org', false],
    ['https://evil.org/.apps.example.com', false],
    ['https://evil.org?.apps.example.com', false],
    ['https://evil.org#.apps.example.com', false],
    ['https://evil.org\\.apps.example.com', false],
    ['https://user@x.apps.example.com', false],
    ['https://app.example.com, https://evil.org', false],
    ['https://app.example.com ', false],
    ['null', false],
    ['', false],
    ['*', false],
  ])('origin %s: allowed is %s', async (origin, allowed) => {
    const x = exchange({ headers: ['origin', origin] })
    await run(hooksOf(cors, strict), x)
    expect(fields(x.queuedHeaders).includes(`access-control-allow-origin: ${origin}`)).toBe(allowed)
    expect(x.queuedHeaders.length > 0).toBe(allowed)
  })

  test('the opaque origin `null` is never allowed credentials', async () => {
    const asked = async (spec: object) => {
      const x = exchange({ headers: ['origin', 'null'] })
      await run(hooksOf(cors, spec), x)
      return fields(x.queuedHeaders)
    }
    expect(await asked(open)).toEqual(['access-control-allow-origin: null'])
    expect(await asked({ ...open, allowCredentials: true })).toEqual([])
  })
})

test.each([
  ['foo.example.com', 'GW106'],
  ['https://a.com/', 'GW106'],
  ['https://a.com/path', 'GW106'],
  ['http://localhost:*', 'GW106'],
  ['https://*.a.*.com', 'GW106'],
  ['null', 'GW106'],
])('the origin %s can never match and is a finding', (origin, code) => {
  expect(compile(cors, { allowOrigins: [origin] }).findings[0]).toMatch(code)
})

test('invalid header and method names are findings', () => {
  const { findings } = compile(cors, { allowHeaders: ['a\r\nset-cookie: b'], allowMethods: ['get x'] })
  expect(findings.map(f => f.split(' ').slice(0, 2).join(' '))).toEqual([
    'GW106 allowHeaders.0',
    'GW106 allowMethods.0',
  ])
})

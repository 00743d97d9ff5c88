import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../src/http/errors.ts'
import type { Exchange } from '../../src/http/exchange.ts'
import { basicAuth } from '../../src/policies/basic-auth.ts'
import { compile, createWorld, exchange, hooksOf, run } from './policy-fixture.ts'

const htpasswd =
  'alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\nzoë:$2y$05$LMZ.8WGNqvagmtJz2Gw6VuiE6khXc2zc0FDTHrfWJyLT66HM8BMAa'
const encode = (text: string) => Buffer.from(text).toString('base64')
const basic = (text: string) => exchange({ headers: ['Authorization', `Basic ${encode(text)}`] })
const WRONG = '401: basic authentication failure: invalid credentials'
const MISSING = '401: basic authentication failure: no basic authentication credentials found'

async function refusal(spec: object, x: Exchange): Promise<GatewayError> {
  try {
    await hooksOf(basicAuth, spec).request!(x)
  } catch (error) {
    if (error instanceof GatewayError) return error
  }
  throw new Error('passed')
}

describe('valid credentials', () => {
  test.each([
    ['alice:password', 'alice'],
    ['zoë:agentgateway', 'zoë'],
  ])('%s pass, expose the username and are removed from the request', async (pair, username) => {
    const x = basic(pair)
    expect(await run(hooksOf(basicAuth, { htpasswd }), x)).toBe('passed')
    expect(x.auth.basic).toEqual({ username })
    expect(x.request.headers.raw).toEqual([])
  })
  test('can be configured in a file and read from another header', async () => {
    const spec = { htpasswd: { file: '.htpasswd' }, location: { header: { name: 'x-auth' } } }
    const { hooks, findings } = compile(basicAuth, spec, createWorld(), { '.htpasswd': htpasswd })
    expect(findings).toEqual([])
    expect(await run(hooks, exchange({ headers: ['x-auth', encode('alice:password')] }))).toBe('passed')
  })
})

describe('other requests', () => {
  test.each([
    ['alice:wrong'],
    ['alice'],
    ['alice:'],
    ['bob:password'],
    [':'],
    ['__proto__:password'],
    ['alice:password\0'],
  ])('%j is refused, even in optional mode', async pair => {
    for (const mode of ['strict', 'optional']) {
      const x = basic(pair)
      expect(await run(hooksOf(basicAuth, { htpasswd, mode }), x)).toBe(WRONG)
      expect(x.auth.basic).toBeUndefined()
    }
  })
  test.each(['!!!', 'YWxpY2U6cGFzc3dvcmQ= x', '=', 'é'])('%j is refused as invalid Base64', async text => {
    const x = exchange({ headers: ['authorization', `Basic ${text}`] })
    expect(await run(hooksOf(basicAuth, { htpasswd }), x)).toBe(WRONG)
  })
  test('missing credentials are refused in strict mode, the default, and pass in optional mode', async () => {
    expect(await run(hooksOf(basicAuth, { htpasswd }), exchange())).toBe(MISSING)
    expect(await run(hooksOf(basicAuth, { htpasswd, mode: 'optional' }), exchange())).toBe('passed')
  })
  test('duplicate credentials are refused', async () => {
    const value = `Basic ${encode('alice:password')}`
    const x = exchange({ headers: ['authorization', value, 'authorization', value] })
    expect(await run(hooksOf(basicAuth, { htpasswd }), x)).toBe(WRONG)
  })
})

describe('the challenge', () => {
  test('includes the realm', async () => {
    expect((await refusal({ htpasswd }, exchange())).details.headers).toEqual([
      'www-authenticate',
      'Basic realm="Restricted"',
    ])
    const { details } = await refusal({ htpasswd, realm: 'a "b" \\' }, basic('alice:x'))
    expect(details.headers).toEqual(['www-authenticate', 'Basic realm="a \\"b\\" \\\\"'])
  })
  test('is a proxy challenge for Proxy-Authorization', async () => {
    const location = { header: { name: 'Proxy-Authorization', prefix: 'Basic ' } }
    const error = await refusal({ htpasswd, authorizationLocation: location }, exchange())
    expect(error.status).toBe(407)
    expect(error.details.headers?.[0]).toBe('proxy-authenticate')
  })
})

test.each([
  [{ htpasswd: 'alice:hunter2' }, 'GW106 htpasswd htpasswd: line 1'],
  [{ htpasswd, realm: 'a\r\nb' }, 'GW106 realm'],
  [{ htpasswd, mode: 'permissive' }, 'GW104 mode'],
  [{}, 'GW103'],
])('%j is rejected, without the password in the message', (bad, finding) => {
  const { findings } = compile(basicAuth, bad)
  expect(findings).toEqual([expect.stringContaining(finding)])
  expect(findings.join()).not.toContain('hunter2')
})

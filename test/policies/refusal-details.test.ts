import { expect, test } from 'vitest'
import { startGateway } from '../helpers/gateway.ts'

const config = (policies: string) => `
binds: [{port: 8080, listeners: [{routes: [{policies: {directResponse: {status: 200, body: ok}, ${policies}}}]}]}]`
const RULES = `authorization: {rules: ['request.path != "/none"', {deny: 'request.path == "/deny"'}, {require: 'request.path != "/require"'}]}`

async function refusals(policies: string, path: string, headers: Record<string, string> = {}) {
  await using gateway = await startGateway(config(policies))
  const reply = await fetch(gateway.url(8080) + path, { headers })
  return { status: reply.status, headers: reply.headers, text: await reply.text() }
}

test('are not sent by default', async () => {
  const { status, headers, text } = await refusals(RULES, '/deny')
  expect([status, text]).toEqual([403, 'authorization failed'])
  expect([headers.get('x-refused-by'), headers.get('x-trace-id')]).toEqual([null, null])
})

test('a header names the policy and the request’s trace id', async () => {
  const { status, headers, text } = await refusals(`${RULES}, refusalDetails: {}`, '/deny')
  expect([status, text]).toEqual([403, 'authorization failed'])
  expect(headers.get('x-refused-by')).toBe('authorization')
  expect(headers.get('x-trace-id')).toMatch(/./)
})

test.each([
  ['/deny', 'request.path == "/deny"'],
  ['/require', 'request.path != "/require"'],
  ['/none', undefined],
])('the problem document for %s names the rule', async (path, rule) => {
  const { status, headers, text } = await refusals(`${RULES}, refusalDetails: {form: problem}`, path)
  expect(status).toBe(403)
  expect(headers.get('content-type')).toBe('application/problem+json')
  expect(Number(headers.get('content-length'))).toBe(text.length)
  expect(JSON.parse(text)).toEqual({
    type: 'about:blank',
    status: 403,
    detail: 'authorization failed',
    policy: 'authorization',
    ...(rule === undefined ? {} : { rule }),
    trace: headers.get('x-trace-id'),
  })
})

test('other policies report details too, and passing requests get none', async () => {
  const keys = `apiKey: {keys: [{key: s3cr3t}]}, localRateLimit: [{maxTokens: 1, tokensPerFill: 1, fillInterval: 1h}]`
  await using gateway = await startGateway(config(`${keys}, refusalDetails: {form: problem}`))
  const ask = async (key: string) => {
    const reply = await fetch(gateway.url(8080), { headers: { authorization: `Bearer ${key}` } })
    return [reply.status, reply.headers.get('x-refused-by'), await reply.text()] as const
  }
  const [status, by, text] = await ask('wrong-key')
  expect([status, by]).toEqual([401, 'apiKey'])
  expect(JSON.parse(text)).toMatchObject({ detail: 'api key authentication failure: invalid credentials' })
  expect(text).not.toMatch(/wrong-key|s3cr3t/)
  expect(await ask('s3cr3t')).toEqual([200, null, 'ok'])
  expect((await ask('s3cr3t')).slice(0, 2)).toEqual([429, 'localRateLimit'])
})

test('a problem document reveals no more than the plain response', async () => {
  const policies = `extAuthz: {host: '127.0.0.1:1', protocol: {http: {}}}, refusalDetails: {form: problem}`
  const { status, text } = await refusals(policies, '/a')
  expect([status, JSON.parse(text)]).toMatchObject([
    403,
    { detail: 'external authorization failed', policy: 'extAuthz' },
  ])
  expect(text).not.toMatch(/127|refused/)
})

test('gRPC clients get the details in gRPC format', async () => {
  const { headers } = await refusals(`${RULES}, refusalDetails: {form: problem}`, '/deny', {
    'content-type': 'application/grpc',
  })
  expect([headers.get('content-type'), headers.get('grpc-status')]).toEqual(['application/grpc', '7'])
  expect(headers.get('x-refused-by')).toBe('authorization')
})

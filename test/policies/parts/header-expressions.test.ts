import { describe, expect, test } from 'vitest'
import { holdsCredential } from '../../../src/policies/parts/header-expressions.ts'
import { startGateway } from '../../helpers/gateway.ts'

describe('a value configured for a credential header', () => {
  test.each([
    ['"Bearer a"'],
    ['Bearer a'],
    ['eyJhbGciOi.eyJzdWIi.c2ln'],
    ['sk_live_1'],
    ['"Bearer " + jwt.raw'],
    [{ a: 1 }],
    [7],
  ])('%j may be a credential', text => {
    expect(holdsCredential('Authorization', text)).toBe(true)
  })

  test.each([
    ['request.headers["x-token"]'],
    ['jwt.sub'],
    ['string(jwt.exp)'],
    ['default(request.headers["a"], null)'],
    ['jwt.admin ? apiKey.token : source.address'],
  ])('%j only refers to its source', text => {
    expect(holdsCredential('Authorization', text)).toBe(false)
  })

  test('another header holds no credential', () => {
    expect(holdsCredential('x-a', '"Bearer a"')).toBe(false)
  })
})

describe('an unquoted credential', () => {
  const policies = [
    'transformations: {request: {set: {authorization: Bearer s3cret}}}',
    'transformations: {request: {set: {x-api-key: s3cret}}}',
    'transformations: {request: {add: {x-api-key: s3cret.a.b}}}',
    'directResponse: {status: 200, headers: {authorization: s3cret}}',
    'extAuthz: {host: "a.test:1", protocol: {http: {addRequestHeaders: {authorization: s3cret x}}}}',
  ]
  test.each(policies)('is not shown in findings: %s', async policy => {
    const text = `binds: [{port: 3000, listeners: [{routes: [{policies: {${policy}}}]}]}]`
    const failure = await startGateway(text).then(
      () => undefined,
      (error: Error) => error.message,
    )
    expect(failure).toMatch(/GW30[12] CEL: this is not an expression that can be evaluated/)
    expect(failure).not.toContain('s3cret')
  })
})

test('a credential literal is not shown in traces', async () => {
  await using gateway = await startGateway(`
binds:
- port: 3000
  listeners:
  - routes:
    - policies:
        transformations: {response: {set: {x-api-key: '"s3cret"'}}}
        directResponse: {status: 200, headers: {authorization: '"Bearer s3cret"', x-plain: '"open"'}}
`)
  const watch = gateway.trace.watch({ requests: 1 })
  if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
  const reply = await fetch(gateway.url(3000))
  expect([reply.headers.get('authorization'), reply.headers.get('x-api-key')]).toEqual(['Bearer s3cret', 's3cret'])
  const events: unknown[] = []
  await expect
    .poll(() => {
      for (let event = watch.next(); event; event = watch.next()) events.push(event)
      return watch.finished
    })
    .toBe(true)
  watch.close()
  const told = JSON.stringify(events)
  expect(told.match(/"expression":"<redacted>"/g)).toHaveLength(2)
  expect(told).toContain('open')
  expect(told).not.toContain('s3cret')
})

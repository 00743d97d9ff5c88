import { describe, expect, test } from 'vitest'
import { HeaderList } from '../../src/http/headers.ts'
import { requestHeaderModifier } from '../../src/policies/request-header-modifier.ts'
import { responseHeaderModifier } from '../../src/policies/response-header-modifier.ts'
import { compile, exchange, fields, hooksOf, run } from './policy-fixture.ts'

const spec = { add: { 'X-Add': 'b', 'x-gone': '1' }, set: { 'x-set': 'new' }, remove: ['X-Gone', 'x-remove'] }

describe('requestHeaderModifier', () => {
  test('adds, then sets, then removes', async () => {
    const x = exchange({ headers: ['x-add', 'a', 'X-Set', 'old', 'x-other', '1', 'X-SET', 'older', 'X-Remove', '1'] })
    await run(hooksOf(requestHeaderModifier, spec), x)
    expect(fields(x.request.headers.raw)).toEqual(['x-add: a', 'x-set: new', 'x-other: 1', 'x-add: b'])
    expect(x.received.headers.has('x-remove')).toBe(true)
  })

  test('setting `host` changes the authority, removing it has no effect', async () => {
    const x = exchange({ authority: 'a.com', headers: ['host', 'a.com'] })
    await run(hooksOf(requestHeaderModifier, { remove: ['Host'] }), x)
    expect([x.request.authority, x.authorityFixed]).toEqual(['a.com', false])
    await run(hooksOf(requestHeaderModifier, { set: { Host: 'b.com:81' } }), x)
    expect([x.request.authority, x.authorityFixed]).toEqual(['b.com:81', true])
  })

  test('non-ASCII text is sent as UTF-8', async () => {
    const x = exchange()
    await run(hooksOf(requestHeaderModifier, { set: { 'x-a': 'Zoë ✓' } }), x)
    expect(Buffer.from(x.request.headers.get('x-a')!, 'latin1').toString('utf8')).toBe('Zoë ✓')
  })

  test.each([
    [{ set: { 'x-a': 'b\r\nx-evil: 1' } }, 'GW106 set.x-a'],
    [{ add: { 'x-a': 'b\0' } }, 'GW106 add.x-a'],
    [{ add: { 'x a': 'b' } }, 'GW106 add.x a'],
    [{ set: { 'x\r\ny': 'b' } }, 'GW106 set.x\r\ny'],
    [{ set: { ':path': '/b' } }, 'GW106 set.:path'],
    [{ set: { '': 'b' } }, 'GW106 set.'],
    [{ remove: ['a:b'] }, 'GW106 remove.0'],
    [{ set: { host: 'a b' } }, 'GW111 set.host'],
    [{ add: [{ name: 'a', value: 'b' }] }, 'GW101 add'],
    [{ ad: {} }, 'GW102 ad'],
  ])('%j is rejected', (bad, finding) => {
    expect(compile(requestHeaderModifier, bad).findings).toEqual([expect.stringContaining(finding)])
  })
})

test('responseHeaderModifier changes any response, including generated ones', async () => {
  const x = exchange()
  const hooks = hooksOf(responseHeaderModifier, spec)
  x.response = { status: 403, headers: new HeaderList(['X-Remove', '1', 'x-set', 'old']) }
  await hooks.response!(x)
  expect(fields(x.response.headers.raw)).toEqual(['x-set: new', 'x-add: b'])
})

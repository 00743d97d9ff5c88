import type { LookupAddress } from 'node:dns'
import { describe, expect, test } from 'vitest'
import { type LookupFamily, Resolver } from '../../../src/engine/upstream/dns.ts'
import { GatewayError } from '../../../src/http/errors.ts'
import { ManualClock } from '../manual-clock.ts'

const v4 = (address: string): LookupAddress => ({ address, family: 4 })
const v6 = (address: string): LookupAddress => ({ address, family: 6 })

/** A resolver over a zone that tests may change, and the questions it has put. */
function resolverOver(zone: Record<string, LookupAddress[]>) {
  const clock = new ManualClock()
  const asked: string[] = []
  const resolver = new Resolver({
    clock,
    lookup: async name => {
      asked.push(name)
      const found = zone[name]
      if (!found) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
      return found
    },
  })
  const first = async (name: string) => (await resolver.addresses(name))[0]!.address
  return { clock, asked, resolver, first }
}

describe('several addresses', () => {
  test('rotate between connections, with the others as fallback', async () => {
    const { resolver } = resolverOver({ a: [v4('1.1.1.1'), v4('2.2.2.2'), v4('3.3.3.3')] })
    const orders = []
    for (let i = 0; i < 4; i++) orders.push((await resolver.addresses('a')).map(a => a.address[0]).join(''))
    expect(orders).toEqual(['123', '231', '312', '123'])
  })

  test.each<[LookupFamily, string]>([
    ['All', '::1 ::2 1.1.1.1 2.2.2.2'],
    ['Auto', '::1 ::2 1.1.1.1 2.2.2.2'],
    ['V4Preferred', '1.1.1.1 2.2.2.2 ::1 ::2'],
    ['V4Only', '1.1.1.1 2.2.2.2'],
    ['V6Only', '::1 ::2'],
  ])('%s', async (family, expected) => {
    const { resolver } = resolverOver({ a: [v6('::1'), v4('1.1.1.1'), v6('::2'), v4('2.2.2.2')] })
    resolver.family = family
    expect((await resolver.addresses('a')).map(a => a.address).join(' ')).toBe(expected)
  })

  test('a name without an address of the requested family is not found', async () => {
    const { resolver } = resolverOver({ a: [v4('1.1.1.1')] })
    resolver.family = 'V6Only'
    await expect(resolver.addresses('a')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  })
})

describe('DNS answers', () => {
  test('are cached for ten seconds, then refreshed while the old one is used', async () => {
    const zone = { a: [v4('1.1.1.1')] }
    const { clock, asked, first } = resolverOver(zone)
    await first('a')
    zone.a = [v4('2.2.2.2')]
    clock.advance(9999)
    expect(await first('a')).toBe('1.1.1.1')
    expect(asked).toHaveLength(1)
    clock.advance(1)
    expect(await first('a')).toBe('1.1.1.1')
    await new Promise(setImmediate)
    expect(await first('a')).toBe('2.2.2.2')
    expect(asked).toHaveLength(2)
  })

  test('outlive a failing resolver for at most a minute', async () => {
    const zone: Record<string, LookupAddress[]> = { a: [v4('1.1.1.1')] }
    const { clock, first } = resolverOver(zone)
    await first('a')
    delete zone.a
    clock.advance(59_999)
    expect(await first('a')).toBe('1.1.1.1')
    clock.advance(1)
    await expect(first('a')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  })

  test('are shared by concurrent connections', async () => {
    const { asked, first } = resolverOver({ a: [v4('1.1.1.1')] })
    await Promise.all([first('a'), first('a'), first('a')])
    expect(asked).toEqual(['a'])
  })

  test('are not cached when the lookup failed', async () => {
    const zone: Record<string, LookupAddress[]> = {}
    const { first } = resolverOver(zone)
    await expect(first('a')).rejects.toThrow('not found')
    zone.a = [v4('1.1.1.1')]
    expect(await first('a')).toBe('1.1.1.1')
  })

  test('do not accumulate for many names', async () => {
    const zone = Object.fromEntries(Array.from({ length: 1025 }, (_, i) => [`n${i}`, [v4('1.1.1.1')]]))
    const { asked, first } = resolverOver(zone)
    for (const name of Object.keys(zone)) await first(name)
    await first('n1024')
    expect(asked).toHaveLength(1025)
    await first('n0')
    expect(asked).toHaveLength(1026)
  })
})

describe('addresses that the target does not permit', () => {
  test('are filtered out, and the lookup fails when none is left', async () => {
    const { resolver } = resolverOver({ a: [v4('127.0.0.1'), v4('9.9.9.9')], b: [v4('127.0.0.1')] })
    const permits = (address: string) => address !== '127.0.0.1'
    expect((await resolver.addresses('a', permits)).map(a => a.address)).toEqual(['9.9.9.9'])
    await expect(resolver.addresses('b', permits)).rejects.toBeInstanceOf(GatewayError)
  })

  test('are checked again after the name resolves differently', async () => {
    const zone = { a: [v4('9.9.9.9')] }
    const { clock, resolver } = resolverOver(zone)
    const permits = (address: string) => address !== '127.0.0.1'
    await resolver.addresses('a', permits)
    zone.a = [v4('127.0.0.1')]
    clock.advance(60_000)
    await expect(resolver.addresses('a', permits)).rejects.toMatchObject({ code: 'destinationRefused' })
  })
})

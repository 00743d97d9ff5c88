import { describe, expect, test } from 'vitest'
import { addressGuard } from '../../src/backends/address-guard.ts'
import { Cidr } from '../../src/cel/ip-address.ts'

const guard = addressGuard([])

/** Each way in which an IPv6 address carries an IPv4 one. */
const CLOTHES: readonly (readonly [name: string, write: (hex: string, inverted: string) => string])[] = [
  ['IPv4-mapped', hex => `::ffff:${hex}`],
  ['IPv4-translated (SIIT)', hex => `::ffff:0:${hex}`],
  ['IPv4-compatible', hex => `::${hex}`],
  ['NAT64', hex => `64:ff9b::${hex}`],
  ['6to4', hex => `2002:${hex}::1`],
  ['Teredo server', hex => `2001:0:${hex}::1`],
  ['Teredo client', (_hex, inverted) => `2001:0:808:808:0:0:${inverted}`],
  ['ISATAP', hex => `2a00:1450::5efe:${hex}`],
  ['ISATAP with the universal bit', hex => `2a00:1450::200:5efe:${hex}`],
]

function hexOf(address: string, flip = 0): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  const group = (high: number, low: number) => (((high << 8) | low) ^ flip).toString(16)
  return `${group(a, b)}:${group(c, d)}`
}

describe('addresses blocked for clients', () => {
  test.each([
    '0.0.0.0',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    '192.0.0.8',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '198.18.0.1',
    '::',
    '::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    'fd00:ec2::254',
    'fd20:ce::254',
    '64:ff9b:1::1',
    '64:ff9b:1:7f00:0:100::',
    '100::1',
    '2001:db8::1',
    '3fff::1',
    '5f00::1',
    'not an address',
  ])('%s', address => expect(guard(address)).toBe(false))

  test.each(CLOTHES)('loopback and metadata addresses embedded in IPv6: %s', (_name, write) => {
    for (const inner of ['127.0.0.1', '169.254.169.254', '0.0.0.0', '100.100.100.200']) {
      // `::` and `::1` are addresses of their own.
      expect(guard(write(hexOf(inner), hexOf(inner, 0xffff))), inner).toBe(false)
    }
  })
})

test.each(['10.0.0.1', '8.8.8.8', '192.168.1.1', '100.64.0.1', '2a00:1450::1', 'fd12::1', '::ffff:8.8.8.8'])(
  'allows %s',
  address => expect(guard(address)).toBe(true),
)

test('allows a configured address, also embedded in IPv6, but no other address embedded with it', () => {
  const allowing = addressGuard([Cidr.parse('127.0.0.1/32') as Cidr])
  expect(allowing('127.0.0.1')).toBe(true)
  expect(allowing('::ffff:127.0.0.1')).toBe(true)
  expect(allowing('::ffff:169.254.169.254')).toBe(false)
  // One address of it is allowed, the other is not.
  expect(allowing(`2001:0:7f00:1:0:0:${hexOf('169.254.169.254', 0xffff)}`)).toBe(false)
})

import type { Toolbox } from '../define.ts'
import { CelFailure } from '../failure.ts'
import { Cidr, IpAddress } from '../ip-address.ts'

/** Address classes and their ranges. */
const RANGES = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linkLocalUnicast: ['169.254.0.0/16', 'fe80::/10'],
  linkLocalMulticast: ['224.0.0.0/24', 'ff02::/16'],
  multicast: ['224.0.0.0/4', 'ff00::/8'],
} as const

/** `ip`, `cidr`, `isIP` and their methods. */
export function defineNetwork({ withTypes }: Toolbox): void {
  const { define, operator } = withTypes(environment => {
    environment.registerType('ip', { ctor: IpAddress, fields: {} })
    environment.registerType('cidr', { ctor: Cidr, fields: {} })
  })
  // Only for the checker: `==` is evaluated by our own code. See rewrite.ts.
  for (const type of ['ip', 'cidr']) operator(`${type} == ${type}: bool`, () => false)
  const within = (name: keyof typeof RANGES) => {
    let ranges: readonly Cidr[] | undefined
    return (address: IpAddress) => {
      ranges ??= RANGES[name].map(text => Cidr.parse(text) as Cidr)
      return ranges.some(range => range.holds(address))
    }
  }
  const multicast = within('multicast')
  const loopback = within('loopback')
  const linkLocalUnicast = within('linkLocalUnicast')

  define('ip(string): ip', toAddress)
  define('ip(ip): ip', (value: IpAddress) => value)
  define('isIP(string): bool', (text: string) => !isMixed(text) && IpAddress.parse(text) !== undefined)
  define('isCIDR(string): bool', (text: string) => !isMixed(text) && Cidr.parse(text) !== undefined)
  define('ip.family(): int', (value: IpAddress) => BigInt(value.family))
  define('ip.isUnspecified(): bool', isUnspecified)
  define('ip.isLoopback(): bool', loopback)
  define('ip.isLinkLocalMulticast(): bool', within('linkLocalMulticast'))
  define('ip.isLinkLocalUnicast(): bool', linkLocalUnicast)
  define('ip.isGlobalUnicast(): bool', (value: IpAddress) => {
    const special = isUnspecified(value) || loopback(value) || linkLocalUnicast(value) || multicast(value)
    return !special && value.toString() !== '255.255.255.255'
  })

  define('cidr(string): cidr', toRange)
  define('cidr(cidr): cidr', (value: Cidr) => value)
  define('cidr.containsIP(dyn): bool', (range: Cidr, address: unknown) => range.holds(toAddress(address)))
  define('cidr.containsCIDR(dyn): bool', (range: Cidr, other: unknown) => range.holdsRange(toRange(other)))
  define('cidr.ip(): ip', (range: Cidr) => range.address)
  define('cidr.masked(): cidr', (range: Cidr) => range.masked())
  define('cidr.prefixLength(): int', (range: Cidr) => BigInt(range.prefix))
}

function isUnspecified(value: IpAddress): boolean {
  return value.bits === 0n
}

/** Mixed notation for an IPv4-mapped address (`::ffff:10.0.0.1`), which CEL does not accept. */
function isMixed(text: string): boolean {
  return text.includes(':') && text.includes('.')
}

export function toAddress(value: unknown): IpAddress {
  if (value instanceof IpAddress) return value
  if (typeof value !== 'string') throw new CelFailure('no_matching_overload')
  const address = isMixed(value) ? undefined : IpAddress.parse(value)
  if (!address) throw new CelFailure('invalid_address')
  return address
}

export function toRange(value: unknown): Cidr {
  if (value instanceof Cidr) return value
  if (typeof value !== 'string') throw new CelFailure('no_matching_overload')
  const range = isMixed(value) ? undefined : Cidr.parse(value)
  if (!range) throw new CelFailure('invalid_address')
  return range
}

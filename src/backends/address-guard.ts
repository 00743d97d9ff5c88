// Restricts the addresses that clients may make the gateway call, where clients choose the destination.
import { Cidr, IpAddress } from '../cel/ip-address.ts'

/**
 * Addresses on the gateway's side: the machine itself, its link, and cloud metadata services, which hand out
 * credentials to any local caller. Also the ranges that IANA reserves and no host can have, since networks repurpose
 * them. Private networks, where backends run, stay allowed.
 */
const GUARDED = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '100.100.100.200/32', // Alibaba Cloud metadata
  '168.63.129.16/32', // Azure host agent
  '192.0.0.0/24', // IETF protocol assignments; 192.0.0.192 is Oracle Cloud metadata
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  '::1/128',
  '64:ff9b:1::/48', // translation with a network-specific prefix (RFC 8215)
  '100::/64', // discard-only
  '100:0:0:1::/64', // dummy prefix
  '2001::/23', // IETF protocol assignments: Teredo, benchmarks, ORCHID
  '2001:db8::/32', // documentation
  '3fff::/20', // documentation
  '5f00::/16', // segment routing
  'fe80::/10',
  'fec0::/10', // site-local (deprecated)
  'ff00::/8',
  'fd00:ec2::/32', // AWS metadata
  'fd20:ce::254/128', // Google Cloud metadata
]

/** Decides on one address: every address that it can represent must be open or allowed. */
export function addressGuard(allowed: readonly Cidr[]): (address: string) => boolean {
  const guarded = GUARDED.map(range => Cidr.parse(range) as Cidr)
  return text => {
    const zone = text.indexOf('%')
    const address = IpAddress.parse(zone < 0 ? text : text.slice(0, zone))
    if (address === undefined) return false
    // An allowed IPv6 range covers the addresses as they are written in it.
    if (allowed.some(range => range.address.family === address.family && range.holds(address))) return true
    return meant(address).every(
      each => allowed.some(range => range.holds(each)) || !guarded.some(range => range.holds(each)),
    )
  }
}

/** An address and the IPv4 addresses that routers and translators derive from it. */
function meant(address: IpAddress): IpAddress[] {
  const inside = embedded(address)
  // If the IPv6 form is a mere wrapper, only the IPv4 address is reached.
  return inside.length === 0 ? [address] : embedsIPv4(address) ? inside : [address, ...inside]
}

/** Mapped (RFC 4291), translated (RFC 2765), compatible, NAT64 (RFC 6052), 6to4 (RFC 3056), Teredo (RFC 4380), ISATAP. */
function embedded({ family, bits }: IpAddress): IpAddress[] {
  if (family === 4) return []
  const at = (shift: bigint) => new IpAddress(4, (bits >> shift) & 0xffffffffn)
  const found: IpAddress[] = []
  const high = bits >> 32n
  if (TRANSLATED.has(high) || (high === 0n && bits > 1n)) found.push(at(0n))
  if (bits >> 112n === 0x2002n) found.push(at(80n))
  if (bits >> 96n === 0x2001_0000n) found.push(at(64n), new IpAddress(4, (bits & 0xffffffffn) ^ 0xffffffffn))
  if (((bits >> 32n) & 0xfdff_ffffn) === 0x0000_5efen) found.push(at(0n))
  return found
}

/** The prefixes before the IPv4 address: `::ffff:0:0/96`, `::ffff:0:0:0/96`, `64:ff9b::/96`. */
const TRANSLATED: ReadonlySet<bigint> = new Set([0xffffn, 0xffff_0000n, 0x64ff9b_0000_0000_0000_0000n])

function embedsIPv4({ bits }: IpAddress): boolean {
  const high = bits >> 32n
  return TRANSLATED.has(high) || high === 0n
}

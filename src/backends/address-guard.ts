// Which addresses clients may have the gateway call, where they name the destination themselves.
import { Cidr, IpAddress } from '../cel/ip-address.ts'

/**
 * What is behind the gateway rather than in front of it: the machine itself, its link, and the places where clouds hand
 * out credentials to whoever asks from there.
 */
const GUARDED = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '100.100.100.200/32', // Alibaba Cloud metadata
  '168.63.129.16/32', // Azure host agent
  '192.0.0.192/32', // Oracle Cloud metadata
  '224.0.0.0/4',
  '255.255.255.255/32',
  '::/128',
  '::1/128',
  'fe80::/10',
  'ff00::/8',
  'fd00:ec2::/32', // AWS metadata
  'fd20:ce::254/128', // Google Cloud metadata
]

/** Decides about one address. IPv4 addresses in the clothes of IPv6 are IPv4 addresses. */
export function addressGuard(allowed: readonly Cidr[]): (address: string) => boolean {
  const guarded = GUARDED.map(range => Cidr.parse(range) as Cidr)
  return text => {
    const zone = text.indexOf('%')
    const address = IpAddress.parse(zone < 0 ? text : text.slice(0, zone))
    if (address === undefined) return false
    const plain = embedded(address)
    return allowed.some(range => range.holds(plain)) || !guarded.some(range => range.holds(plain))
  }
}

/** The IPv4 address inside: mapped, compatible, NAT64 (RFC 6052) or 6to4. */
function embedded(address: IpAddress): IpAddress {
  if (address.family === 4) return address
  const { bits } = address
  const high = bits >> 32n
  if (high === 0xffffn || high === 0x64ff9b_0000_0000_0000_0000n) return new IpAddress(4, bits & 0xffffffffn)
  if (high === 0n && bits > 1n) return new IpAddress(4, bits)
  if (bits >> 112n === 0x2002n) return new IpAddress(4, (bits >> 80n) & 0xffffffffn)
  return address
}

import { principalOf } from '../../auth/principal.ts'
import { IpAddress } from '../../cel/ip-address.ts'
import type { Exchange } from '../../http/exchange.ts'

/** Who counts as one when places are short: the principal, or the network that a client can choose its address from. */
export function clientOf(x: Exchange): string {
  const principal = principalOf(x.auth)
  if (principal !== undefined) return `principal ${principal}`
  return `address ${networkOf(x.connection.address)}`
}

/** An IPv4 address, or the /64 of an IPv6 one: whoever has one address of a /64 has them all. */
function networkOf(address: string): string {
  const parsed = IpAddress.parse(address.replace(/%.*/, ''))?.unmapped()
  if (parsed === undefined) return address
  return parsed.family === 4 ? parsed.toString() : `${new IpAddress(6, (parsed.bits >> 64n) << 64n)}/64`
}

import { principalOf } from '../../auth/principal.ts'
import { IpAddress } from '../../cel/ip-address.ts'
import type { Exchange } from '../../http/exchange.ts'

/** The owner of a quota: the principal, or the network that a client can choose addresses from. */
export function clientOf(x: Exchange): string {
  const principal = principalOf(x.auth)
  if (principal !== undefined) return `principal ${principal}`
  return `address ${networkOf(x.connection.address)}`
}

/** An IPv4 address, or the /64 of an IPv6 one: a client with one address of a /64 has all of them. */
function networkOf(address: string): string {
  const parsed = IpAddress.parse(address.replace(/%.*/, ''))?.unmapped()
  if (parsed === undefined) return address
  return parsed.family === 4 ? parsed.toString() : `${new IpAddress(6, (parsed.bits >> 64n) << 64n)}/64`
}

import { IpAddress } from '../../cel/ip-address.ts'

/** An IPv4 address, or the /64 of an IPv6 one: whoever has one address of a /64 has them all. */
export function networkOf(address: string): string {
  const parsed = IpAddress.parse(address.replace(/%.*/, ''))?.unmapped()
  if (parsed === undefined) return address
  return parsed.family === 4 ? parsed.toString() : `${new IpAddress(6, (parsed.bits >> 64n) << 64n)}/64`
}

import { IpAddress } from '../../cel/ip-address.ts'
import type { AuthFacts, Exchange } from '../../http/exchange.ts'
import { fingerprint } from '../../mcp/session-id.ts'

/** Who a session belongs to: somebody else who learns its id has no use for it. */
export function principalOf({ jwt, apiKey, basic }: AuthFacts): string | undefined {
  const who = jwt
    ? ['jwt', jwt.iss, jwt.sub]
    : apiKey
      ? ['key', apiKey.key ?? apiKey]
      : basic
        ? ['basic', basic.username]
        : undefined
  return who && fingerprint(JSON.stringify(who))
}

/** Who counts as one when places are short: the principal, or the network that a client can choose its address from. */
export function clientOf(x: Exchange): string {
  const principal = principalOf(x.auth)
  if (principal !== undefined) return `principal ${principal}`
  return `address ${networkOf(x.connection.address)}`
}

/** An IPv4 address, or the /64 of an IPv6 one: whoever has one address of a /64 has them all. */
export function networkOf(address: string): string {
  const parsed = IpAddress.parse(address.replace(/%.*/, ''))?.unmapped()
  if (parsed === undefined) return address
  return parsed.family === 4 ? parsed.toString() : `${new IpAddress(6, (parsed.bits >> 64n) << 64n)}/64`
}

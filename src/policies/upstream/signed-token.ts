// The token that the gateway signs for a backend (`backendAuth.jwtSign`).
import { readSigningKey, TokenSigner } from '../../auth/token-signer.ts'
import { toJsonText } from '../../cel/values.ts'
import { GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Infer } from '../../schema/builder.ts'
import type { CompileContext } from '../policy.ts'
import type { jwtSign } from './backend-auth-schema.ts'

/** The token of a call; undefined after a finding. A claim that fails to evaluate fails the call. */
export function signedToken(
  { signingKey, alg, kid, claims, ttl }: Infer<typeof jwtSign>,
  pem: string | undefined,
  ctx: CompileContext,
): ((x: Exchange) => string) | undefined {
  if (pem === undefined) return undefined
  const key = readSigningKey(pem, alg)
  if (typeof key === 'string') {
    const at = 'inline' in signingKey ? ['jwtSign', 'signingKey'] : ['jwtSign', 'signingKey', 'file']
    ctx.report({ code: 'GW207', path: at, at: 'value', message: `the signing key cannot be used: ${key}` })
    return undefined
  }
  const signer = new TokenSigner({ key, alg, kid, ttl })
  const members = Object.entries(claims).map(([name, value]) => ({ name, key: JSON.stringify(name), value }))
  const { clock } = ctx.runtime
  return x => {
    const text = members.map(member => {
      const outcome = member.value.evaluate(x)
      if (outcome.ok) return `${member.key}:${toJsonText(outcome.value)}`
      throw new GatewayError('backendAuth', { detail: `the claim \`${member.name}\` cannot be computed` })
    })
    return signer.sign(text.join(','), clock.now())
  }
}

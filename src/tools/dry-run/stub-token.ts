import { unverifiedClaims } from '../../auth/unverified-claims.ts'
import { jsonReply, type StubCall, type StubReply } from './stub-transport.ts'

const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag'

/**
 * A token endpoint that grants every request. Its tokens name their subject, so that tests can tell them apart.
 * Undefined for other calls.
 */
export function tokenReply({ body, purpose }: StubCall): StubReply | undefined {
  if (purpose?.subtype !== 'TokenExchange') return undefined
  const form = new URLSearchParams(body.toString())
  const type = form.get('requested_token_type')
  return jsonReply({
    access_token: `token-of-${wordOf(form.get('subject_token') ?? form.get('assertion') ?? '')}`,
    token_type: type === ID_JAG ? 'N_A' : 'Bearer',
    ...(type === null ? {} : { issued_token_type: type }),
  })
}

/** The subject of a token issued here, or the subject of any other token, or the token itself. */
function wordOf(token: string): string {
  const { sub } = unverifiedClaims(token) ?? {}
  return encodeURIComponent(typeof sub === 'string' ? sub : token.replace(/^token-of-/, ''))
}

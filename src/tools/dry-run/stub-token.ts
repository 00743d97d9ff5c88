import { unverifiedClaims } from '../../auth/unverified-claims.ts'
import { jsonReply, type StubCall, type StubReply } from './stub-transport.ts'

const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag'

/**
 * A token endpoint that gives what it is asked for; undefined for a call of something else. Its tokens name whose they
 * are, so that a test sees who was given whose.
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

/** The subject of a token, or the token itself; of one that was given here, whose that is. */
function wordOf(token: string): string {
  const { sub } = unverifiedClaims(token) ?? {}
  return encodeURIComponent(typeof sub === 'string' ? sub : token.replace(/^token-of-/, ''))
}

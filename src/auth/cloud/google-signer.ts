import { hash } from 'node:crypto'
import type { Target } from '../../http/transport.ts'
import { FreshByKey } from '../fresh.ts'
import { bearerSigner } from './bearer-signer.ts'
import type { CloudContext } from './cloud-context.ts'
import { readGoogleCredential } from './google-credential.ts'
import { type GoogleTokenRequest, googleToken } from './google-tokens.ts'

export interface GoogleSigning {
  readonly type: 'accessToken' | 'idToken'
  /** For an ID token; the host of the call if unset. */
  readonly audience?: string
  /** The content of a credential file; the environment's credential if unset. */
  readonly credential?: string
}

/** Adds a Google token to outgoing requests. Equal credentials share tokens. */
export function googleSigner(signing: GoogleSigning, cloud: CloudContext): NonNullable<Target['sign']> {
  const { runtime, env } = cloud
  const { credential } = signing
  const name = credential === undefined ? 'of the environment' : hash('sha256', credential, 'base64url')
  const tokens = runtime.state.get(`Google tokens ${name}`, () => new FreshByKey<string>(MAX_AUDIENCES, runtime.clock))
  return bearerSigner((request, target) => {
    const wish = tokenRequestFor(signing, target)
    return tokens.get(wish.kind === 'access' ? '' : wish.audience, awaited => {
      const from = credential === undefined ? undefined : readGoogleCredential(credential)
      return googleToken({ runtime, env, trace: awaited ? request.signedFor?.trace : undefined }, from, wish)
    })
  })
}

function tokenRequestFor({ type, audience }: GoogleSigning, target: Target): GoogleTokenRequest {
  if (type === 'accessToken') return { kind: 'access' }
  if (audience !== undefined) return { kind: 'identity', audience }
  // An IP address does not identify its owner, and the request's host is set by the client.
  if (!target.named) throw new Error('an ID token for an address needs `audience`')
  return { kind: 'identity', audience: `https://${target.host}` }
}

/** Bounded: a host chosen by clients is an audience chosen by clients. */
const MAX_AUDIENCES = 256

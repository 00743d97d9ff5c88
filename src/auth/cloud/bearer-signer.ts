import { GatewayError } from '../../http/errors.ts'
import type { Target, UpstreamRequest } from '../../http/transport.ts'

/** The token for one call. Throws or rejects with the reason, without credentials. */
export type TokenSource = (request: UpstreamRequest, target: Target) => Promise<string>

/** Adds a bearer token to each outgoing request. Throws GatewayError `backendAuth` if there is none. */
export function bearerSigner(tokenFor: TokenSource): NonNullable<Target['sign']> {
  return async (request, target) => {
    let token: string
    try {
      token = await tokenFor(request, target)
    } catch (error) {
      throw new GatewayError('backendAuth', {
        detail: error instanceof Error ? error.message : 'unknown',
        cause: error,
      })
    }
    const headers = request.headers.copy()
    headers.set('authorization', `Bearer ${token}`)
    return { ...request, headers }
  }
}

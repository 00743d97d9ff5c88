// Token requests of a client that its users authorize (RFC 6749 section 4.1.3 and 6).
import type { Exchange } from '../../http/exchange.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { callProvider, jsonObjectIn, type ProviderCall } from '../provider-metadata.ts'
import { type OAuthClient, proveClient } from './client-authentication.ts'

export interface TokenReply {
  readonly status: number
  readonly members: Readonly<Record<string, unknown>>
}

/** Throws an Error if no JSON object arrives; it does not quote the response. */
export async function requestGrant(
  at: URL,
  client: OAuthClient,
  grant: Readonly<Record<string, string>>,
  how: Omit<ProviderCall, 'method' | 'what' | 'fields' | 'body'>,
  runtime: Runtime,
  x: Exchange | undefined,
): Promise<TokenReply> {
  const form = new URLSearchParams(grant)
  const proof = proveClient(client, form, runtime.uuid(), runtime.clock.now())
  const fields = ['content-type', 'application/x-www-form-urlencoded', ...proof]
  const call = { ...how, what: 'token', method: 'POST', fields, body: form.toString() } as const
  const reply = await callProvider(at, call, runtime, x)
  return { status: reply.status, members: jsonObjectIn(reply) }
}

/** The OAuth error code; any other text is not repeated. */
export function wordIn(error: unknown): string {
  return typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? ` (${error})` : ''
}

/** s; undefined if the token does not say when it expires. */
export function lifetimeIn({ expires_in: expires }: TokenReply['members']): number | undefined {
  const seconds = Number(expires)
  return expires !== undefined && Number.isFinite(seconds) && seconds > 0 ? seconds : undefined
}

/** Undefined if there is none. */
export function refreshTokenIn({ refresh_token: refresh }: TokenReply['members']): string | undefined {
  return typeof refresh === 'string' && refresh !== '' ? refresh : undefined
}

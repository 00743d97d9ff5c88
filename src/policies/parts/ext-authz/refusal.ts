import type { Reply } from '../../../http/exchange.ts'

/** What a service answers in place of the backend. */
export function refusal(status: number, headers: readonly string[], body: string | Buffer | undefined): Reply {
  // Anything else cannot answer a request.
  const final = status >= 200 && status <= 599 ? status : 403
  const bare = final === 204 || final === 304
  return {
    status: final,
    headers,
    body: bare ? undefined : body,
    reason: 'ExtAuth',
    error: 'external authorization failed',
  }
}

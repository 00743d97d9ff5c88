import type { Reply } from '../../../http/exchange.ts'

/** A service's response in place of the backend's. */
export function refusal(status: number, headers: readonly string[], body: string | Buffer | undefined): Reply {
  // Other statuses are not valid for a final response.
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

import type { RequestHead } from '../../http/exchange.ts'

/** Protects against DNS rebinding: a web page must not reach a local server through a hostname of its own. */
export function isLocal({ authority, headers }: RequestHead): boolean {
  if (!isLocalHost(authority)) return false
  const origins = headers.getAll('origin')
  if (origins.length === 0) return true
  const [origin] = origins
  if (origins.length > 1 || origin === undefined) return false
  const url = URL.parse(origin)
  return url !== null && url.host !== '' && isLocalHost(url.host)
}

function isLocalHost(authority: string): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(authority)
}

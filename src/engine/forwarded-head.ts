import { HeaderList } from '../http/headers.ts'
import { equalsIgnoreCase } from '../http/ignore-case.ts'
import { fieldKind } from './upstream/hop-by-hop.ts'

/**
 * The fields to forward to a backend: without connection-specific ones, and without `host`, which is sent as the
 * authority. Proxy credentials are kept only if set by a policy rather than the client. Fields listed in the client's
 * `connection` were removed when the head was read.
 */
export function forwardedHeaders(headers: HeaderList, received: HeaderList): HeaderList {
  const raw = headers.raw
  const out: string[] = []
  let trailers = false
  /** Index of the `cookie` value: backends expect a single field (RFC 6265 section 5.4). */
  let cookies = -1
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!
    const kind = fieldKind(name)
    if (kind === 'keep' || kind === 'content-length') {
      if (equalsIgnoreCase(name, 'te')) trailers ||= TRAILERS.test(raw[i + 1]!)
      else if (cookies >= 0 && equalsIgnoreCase(name, 'cookie')) out[cookies] += `; ${raw[i + 1]!}`
      else if (!isProxyCredential(name) || raw[i + 1] !== received.get(name)) {
        if (equalsIgnoreCase(name, 'cookie')) cookies = out.length + 1
        out.push(name, raw[i + 1]!)
      }
    }
  }
  if (trailers) out.push('te', 'trailers')
  return new HeaderList(out, true)
}

/** Trailers are forwarded, so `te: trailers` is too; other transfer codings are hop-by-hop. */
const TRAILERS = /(^|,)\s*trailers\s*(;|,|$)/i

/** Credentials for this proxy are not for the backend (RFC 9110 section 11.7.2). */
function isProxyCredential(name: string): boolean {
  return equalsIgnoreCase(name, 'proxy-authorization') || equalsIgnoreCase(name, 'proxy-authenticate')
}

import { HeaderList } from '../http/headers.ts'
import { equalsIgnoreCase } from '../http/ignore-case.ts'
import { fieldKind } from './upstream/hop-by-hop.ts'

/**
 * The fields that go on to a backend: without those that concern the client's own connection, and without `host`, which
 * travels as the authority. Credentials for a proxy are kept where a policy, not the client, gave them. What the client's
 * `connection` listed is gone since the head was read.
 */
export function forwardedHeaders(headers: HeaderList, received: HeaderList): HeaderList {
  const raw = headers.raw
  const out: string[] = []
  let trailers = false
  /** Where the value of `cookie` is: backends look for one field (RFC 6265 section 5.4). */
  let cookies = -1
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!
    const kind = fieldKind(name)
    if (kind === 'keep' || kind === 'content-length') {
      if (equalsIgnoreCase(name, 'te')) trailers ||= TRAILERS.test(raw[i + 1]!)
      else if (cookies >= 0 && equalsIgnoreCase(name, 'cookie')) out[cookies] += `; ${raw[i + 1]!}`
      else if (!ofTheProxy(name) || raw[i + 1] !== received.get(name)) {
        if (equalsIgnoreCase(name, 'cookie')) cookies = out.length + 1
        out.push(name, raw[i + 1]!)
      }
    }
  }
  if (trailers) out.push('te', 'trailers')
  return new HeaderList(out, true)
}

/** Trailers are passed on, so who asks for them may have them; other transfer codings are between two ends. */
const TRAILERS = /(^|,)\s*trailers\s*(;|,|$)/i

/** Credentials for this proxy are not the backend's business (RFC 9110 section 11.7.2). */
function ofTheProxy(name: string): boolean {
  return equalsIgnoreCase(name, 'proxy-authorization') || equalsIgnoreCase(name, 'proxy-authenticate')
}

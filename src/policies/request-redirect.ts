// Responds with a redirect; `Location` is always absolute and keeps the query.
import { defaultPort, hostOf, portOf } from '../http/authority.ts'
import type { Exchange, Reply } from '../http/exchange.ts'
import { def, integer, object, oneOf, opt } from '../schema/builder.ts'
import { type AuthorityPart, authorityPart, compilePath, pathPart } from './parts/url-parts.ts'
import { definePolicy } from './policy.ts'

const schema = object('requestRedirect', {
  scheme: opt(oneOf(['http', 'https']), 'Scheme of the new address; unset: that of the request.'),
  authority: opt(authorityPart, 'Authority of the new address; unset: that of the request.'),
  path: opt(pathPart, 'Path of the new address; unset: that of the request.'),
  status: def(integer(300, 399), 302, 'Status of the reply.'),
})

export const requestRedirect = definePolicy({
  name: 'requestRedirect',
  doc: 'Responds with a redirect instead of calling a backend.',
  attach: ['route', 'backend'],
  schema,
  compile(spec) {
    const { status } = spec
    const newPath = compilePath(spec.path)
    const newAuthority = compileAuthority(spec.authority, spec.scheme)
    function redirect(x: Exchange): Reply {
      const scheme = spec.scheme ?? x.request.scheme
      const location = `${scheme}://${newAuthority(x, scheme)}${newPath(x)}`
      return { status, headers: ['location', location], body: undefined, reason: 'DirectResponse' }
    }
    return { request: redirect }
  },
})

/**
 * A new host keeps the request's port, unless the scheme is set too: that port belonged to the other scheme. The
 * scheme's default port is omitted.
 */
function compileAuthority(
  part: AuthorityPart | undefined,
  schemeSet: string | undefined,
): (x: Exchange, scheme: string) => string {
  if (part === undefined || typeof part === 'string') return x => x.request.authority
  const { full, host, port } = part
  if (full !== undefined) return () => full
  if (port !== undefined) return (x, scheme) => join(hostOf(x.request.authority), String(port), scheme)
  if (schemeSet !== undefined) return () => host as string
  return (x, scheme) => join(host as string, portOf(x.request.authority), scheme)
}

function join(host: string, port: string, scheme: string): string {
  return port === '' || Number(port) === defaultPort(scheme) ? host : `${host}:${port}`
}

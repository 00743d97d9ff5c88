// What a target says of its authorization server (RFC 9728).

import { jsonObjectIn } from '../../../auth/provider-metadata.ts'
import { ask } from '../../../calls/ask.ts'
import { authorityOf } from '../../../http/authority.ts'
import type { Exchange } from '../../../http/exchange.ts'
import { pathOf, resourceDocument } from '../../../mcp/oauth-documents.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { type HttpTarget, placeOf } from '../upstream-call.ts'
import { isScope } from './challenge.ts'

export interface Resource {
  /** Its identifier: the audience of its tokens (RFC 8707). */
  readonly name: string
  readonly issuer: string
  readonly scopes: readonly string[]
}

const LONGEST = 256 * 1024
/** ms. */
const TIMEOUT = 10_000

/** The target as its address names it, as its own authorization server: so do targets before 2025-06-18. */
export function siteOf(target: HttpTarget): Resource {
  const place = placeOf(target)
  if (place instanceof Error) throw place
  const { origin, href } = new URL(`${place.tls ? 'https' : 'http'}://${authorityOf(place)}${pathOf(target.path)}`)
  return { name: href, issuer: origin, scopes: [] }
}

/** `named`: by the target's challenge. Documents elsewhere are not read: whoever wrote them may not be the target. */
export async function readResource(
  target: HttpTarget,
  named: string | undefined,
  runtime: Runtime,
  x: Exchange,
): Promise<Resource> {
  const site = siteOf(target)
  const at = named !== undefined && URL.canParse(named) ? new URL(named) : undefined
  const paths = [
    ...(at?.origin === site.issuer ? [at.pathname + at.search] : []),
    resourceDocument('', new URL(site.name).pathname),
    resourceDocument('', ''),
  ]
  for (const path of new Set(paths)) {
    const found = await read(target, path, site, runtime, x).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : 'unknown'
      runtime.log.log('debug', 'no description of an MCP target', { target: target.name, path, reason })
      return undefined
    })
    if (found) return found
  }
  return site
}

async function read(
  target: HttpTarget,
  path: string,
  site: Resource,
  runtime: Runtime,
  x: Exchange,
): Promise<Resource | undefined> {
  const call = {
    scope: 'signIn',
    what: 'resource metadata',
    shared: true,
    method: 'GET',
    path,
    fields: ['accept', 'application/json'],
    purpose: { kind: 'Policy', subtype: 'Oidc' },
    timeout: target.timeout ?? TIMEOUT,
  } as const
  const reply = await ask({ ...target, key: target.name }, call, undefined, LONGEST, runtime, x)
  if (reply.status !== 200) return undefined
  const { resource: name, authorization_servers: servers, scopes_supported: scopes } = jsonObjectIn(reply)
  if (typeof name !== 'string' || !covers(name, site.name)) throw new Error('it describes another resource')
  const [issuer] = Array.isArray(servers) ? (servers as unknown[]) : []
  return {
    name,
    issuer: typeof issuer === 'string' ? issuer : site.issuer,
    scopes: Array.isArray(scopes) ? scopes.filter(isScope) : [],
  }
}

/** Whether a resource of that name includes the target: a description of another one may lead users elsewhere. */
function covers(name: string, target: string): boolean {
  if (!URL.canParse(name)) return false
  const [described, called] = [new URL(name), new URL(target)]
  const [prefix, path] = [described, called].map(({ pathname }) => `${pathname.replace(/\/$/, '')}/`)
  return described.origin === called.origin && `${path}`.startsWith(`${prefix}`)
}

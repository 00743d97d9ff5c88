// Rejects state-changing requests from pages of other sites (specification, Traffic policy building blocks, CSRF).

import { ERRORS, GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import { originText, parseOrigin } from '../http/origin.ts'
import { list, object, opt, parsed, string } from '../schema/builder.ts'
import { asFields } from '../schema/untyped.ts'
import { defined, strings } from './parts/cluster-form.ts'
import { definePolicy } from './policy.ts'

const origin = parsed(
  string({ min: 1, max: 256 }),
  '`scheme://host`, with a port if needed',
  text => {
    const parts = parseOrigin(text)
    if (parts && !text.includes('*')) return { value: originText(parts) }
    const trimmed = text.replace(/\/+$/, '')
    const close = !text.includes('*') && parseOrigin(trimmed) ? { suggestion: trimmed } : {}
    return { problem: { message: `\`${text}\` is not an origin: it would never match`, ...close } }
  },
  'https://localhost',
  { type: 'string', minLength: 1, maxLength: 256, pattern: '^[A-Za-z][A-Za-z0-9+.-]*://[^/?#@\\s*]+$' },
)

const schema = object('csrf', {
  additionalOrigins: opt(list(origin, { min: 1, max: 16 }), 'Allowed origins in addition to the one that is called.', {
    spec: 'Traffic policy building blocks',
  }),
})

export const csrf = definePolicy({
  name: 'csrf',
  doc: "Refuses state-changing requests from other sites' pages.",
  spec: 'Traffic policy building blocks',
  attach: ['route'],
  schema,
  cluster: [
    {
      section: 'traffic',
      member: 'csrf',
      field: opt(schema, 'Refuses state-changing requests from other sites.'),
      convert: part => defined({ additionalOrigins: strings(part.additionalOrigins) }),
    },
  ],
  probe: spec => ({ origins: strings(asFields(spec)?.additionalOrigins) ?? [] }),
  guards: true,
  compile({ additionalOrigins = [] }) {
    const allowed = new Set(additionalOrigins)
    const alsoAllowed = additionalOrigins.length === 0 ? '' : ', nor among additionalOrigins'
    function refuseForgery(x: Exchange): undefined {
      const { method, scheme, authority, headers } = x.received
      if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return
      const site = headers.get('sec-fetch-site')
      if (site === 'same-origin' || site === 'none') return
      const origin = headers.get('origin')
      if (site === undefined) {
        if (origin === undefined || origin === 'null') return
        if (sameOrigin(origin, scheme, authority)) return
      }
      if (origin !== undefined && allowed.size > 0 && isAllowed(origin, allowed)) return
      const detail = `${foreign(site, origin, `${scheme}://${authority}`)}${origin === undefined ? '' : alsoAllowed}`
      throw new GatewayError('csrf', { detail, body: { type: '', text: ERRORS.csrf.message } })
    }
    return { request: refuseForgery }
  },
})

/** For log and trace only: the response body does not say why. */
function foreign(site: string | undefined, origin: string | undefined, own: string): string {
  if (site === undefined) return isNot(origin, own)
  return `sec-fetch-site is ${site.slice(0, MAX_SHOWN)}${origin === undefined ? '' : `: ${isNot(origin, own)}`}`
}

function isNot(origin = '', own: string): string {
  return `origin "${origin.slice(0, MAX_SHOWN)}" is not ${own}`
}

/** Maximum characters shown of a header field. */
const MAX_SHOWN = 256

function sameOrigin(origin: string, scheme: string, authority: string): boolean {
  const own = parseOrigin(`${scheme}://${authority}`)
  const asked = parseOrigin(origin)
  return own !== undefined && asked !== undefined && originText(own) === originText(asked)
}

function isAllowed(origin: string, allowed: ReadonlySet<string>): boolean {
  const parts = parseOrigin(origin)
  return parts !== undefined && allowed.has(originText(parts))
}

// Cross-origin resource sharing: answers preflights and adds the allowed origin to every other response.

import type { Exchange, Reply } from '../http/exchange.ts'
import { originText, parseOrigin, type WebOrigin } from '../http/origin.ts'
import {
  boolean,
  def,
  type Infer,
  integer,
  list,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  parsed,
  serverRule,
  string,
} from '../schema/builder.ts'
import { set } from '../schema/resource-scalars.ts'
import { problem } from '../schema/rules.ts'
import { duration } from '../schema/scalars.ts'
import type { Fields } from '../schema/untyped.ts'
import { asFields } from '../schema/untyped.ts'
import type { TraceScope } from '../trace/trace-event.ts'
import { defined, type Policies, strings } from './parts/cluster-form.ts'
import { definePolicy } from './policy.ts'

const token = string({ min: 1, max: 256, pattern: /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, form: 'an HTTP token' })
const origin = parsed(
  string({ min: 1, max: 256 }),
  '`*` or `scheme://host[:port]`, with `*` inside the host if wanted',
  text => {
    if (text === '*') return { value: text }
    const trimmed = text.replace(/\/+$/, '')
    if (!parseOrigin(text)) {
      const close = parseOrigin(trimmed)
        ? trimmed
        : parseOrigin(`https://${trimmed}`)
          ? `https://${trimmed}`
          : undefined
      const message = `\`${text}\` is not an origin: it would never match`
      return { problem: { message, ...(close === undefined ? {} : { suggestion: close }) } }
    }
    const stars = text.split('*').length - 1
    if (stars > 1) return { problem: { message: `\`${text}\` has more than one \`*\`` } }
    return { value: text }
  },
  '*',
)

const schema = object('cors', {
  allowCredentials: def(boolean, false, 'Lets pages send cookies and credentials.'),
  allowHeaders: def(list(token), [], 'Request headers that pages may send; `*` for any.'),
  allowMethods: def(list(token), [], 'Methods that pages may use; `*` for any.'),
  allowOrigins: def(list(origin), [], 'Origins of the pages; `*` for any, `https://*.example.com` for subdomains.'),
  exposeHeaders: def(list(token), [], 'Response headers that pages may read.'),
  maxAge: opt(duration, 'How long browsers may cache the response to a preflight.'),
})
type Spec = Infer<typeof schema>

const clusterHeaderName = string({
  min: 1,
  max: 256,
  pattern: /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/,
  form: 'a header name or `*`',
})
const clusterOrigin = string({
  min: 1,
  max: 253,
  pattern: /^\*$|^https?:\/\/(\*\.)?([a-zA-Z0-9-]+\.)*[a-zA-Z0-9-]+(:[0-9]{1,5})?$|^https?:\/\/\*(:[0-9]{1,5})?$/,
  form: '`*`, or `http(s)://host[:port]` with `*.` in front of the host if wanted',
})
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', '*'] as const
const WILDCARDS = ['allowHeaders', 'allowMethods', 'allowOrigins']

/** The form used by route filters and traffic policies. */
export const corsInCluster = object(
  'CORS',
  {
    allowCredentials: opt(boolean, 'Lets pages send cookies and credentials.'),
    allowHeaders: opt(set(clusterHeaderName, { max: 64 }), 'Request headers that pages may send; `*` alone for any.'),
    allowMethods: opt(set(oneOf(METHODS), { max: 9 }), 'Methods that pages may use; `*` alone for any.'),
    allowOrigins: opt(set(clusterOrigin, { max: 64 }), 'Origins of the pages; `*` alone for any.'),
    exposeHeaders: opt(set(clusterHeaderName, { max: 64 }), 'Response headers that pages may read.'),
    maxAge: def(integer(1), 5, 'Seconds for which browsers may cache the response to a preflight.'),
  },
  {
    check: wildcardsStandAlone,
    rules: WILDCARDS.map(name =>
      serverRule(
        `!has(self.${name}) || self.${name}.size() == 1 || !('*' in self.${name})`,
        `${name} takes * only as its only entry`,
      ),
    ),
  },
)

export const cors = definePolicy({
  name: 'cors',
  doc: 'Answers preflight requests and tells browsers which origins may read the replies.',
  spec: 'Standalone configuration file shape',
  attach: ['listener', 'route'],
  schema,
  cluster: [
    {
      section: 'traffic',
      member: 'cors',
      field: opt(corsInCluster, 'Which origins may read replies.'),
      convert: convertCors,
    },
  ],
  probe: spec => ({ origins: strings(asFields(spec)?.allowOrigins) ?? [] }),
  compile(spec) {
    const allows = compileOrigins(spec.allowOrigins, spec.allowCredentials)
    const simple = simpleHeaders(spec)
    const preflight = compilePreflight(spec)
    function shareAcrossOrigins(x: Exchange): Reply | undefined {
      const { headers, method } = x.request
      const asked = headers.get('origin')
      if (asked === undefined) return undefined
      const allowed = allows(asked)
      if (x.trace && !allowed) traceForeign(x.trace, asked)
      if (method === 'OPTIONS' && (allowed || headers.has('access-control-request-method'))) {
        return { status: 200, headers: allowed ? preflight(x, asked) : [], body: undefined, reason: 'DirectResponse' }
      }
      if (allowed) x.queuedHeaders.push('access-control-allow-origin', asked, ...simple)
      return undefined
    }
    return { request: shareAcrossOrigins }
  },
})

/** A rejected origin gets an ordinary response: only the browser blocks it, without telling the server. */
function traceForeign(trace: TraceScope, asked: string): void {
  const detail = `origin "${asked.slice(0, 256)}" is not among allowOrigins`
  trace.emit({ type: 'policy', policy: 'cors', phase: 'request', result: 'skipped', detail }, { severity: 'warn' })
}

/** Any sandboxed page has the origin `null`, so it is never allowed with credentials. */
function compileOrigins(entries: readonly string[], credentials: boolean): (asked: string) => boolean {
  if (entries.includes('*')) return credentials ? asked => asked !== 'null' : () => true
  const parsedEntries = entries.map(entry => parseOrigin(entry) as WebOrigin)
  const exact = new Set(parsedEntries.filter(entry => !entry.host.includes('*')).map(originText))
  const patterns = parsedEntries.filter(entry => entry.host.includes('*')).map(compilePattern)
  return asked => {
    if (exact.has(asked)) return true
    const parts = parseOrigin(asked)
    return parts !== undefined && (exact.has(originText(parts)) || patterns.some(matches => matches(parts)))
  }
}

function compilePattern({ scheme, host, port }: WebOrigin): (asked: WebOrigin) => boolean {
  const star = host.indexOf('*')
  const before = host.slice(0, star)
  const after = host.slice(star + 1)
  return asked =>
    asked.scheme === scheme &&
    asked.port === port &&
    asked.host.length > before.length + after.length &&
    asked.host.startsWith(before) &&
    asked.host.endsWith(after)
}

function simpleHeaders(spec: Spec): readonly string[] {
  return [
    ...(spec.allowCredentials ? ['access-control-allow-credentials', 'true'] : []),
    ...(spec.exposeHeaders.length > 0 ? ['access-control-expose-headers', spec.exposeHeaders.join(',')] : []),
  ]
}

function compilePreflight(spec: Spec): (x: Exchange, asked: string) => string[] {
  const methods = compileAllowed(
    'access-control-allow-methods',
    'access-control-request-method',
    spec.allowMethods,
    spec,
  )
  const names = compileAllowed(
    'access-control-allow-headers',
    'access-control-request-headers',
    spec.allowHeaders,
    spec,
  )
  const fixed = [
    ...simpleHeaders(spec),
    ...(spec.maxAge === undefined ? [] : ['access-control-max-age', String(Math.floor(spec.maxAge / 1000))]),
  ]
  return (x, asked) => {
    const out = ['access-control-allow-origin', asked]
    methods(x, out)
    names(x, out)
    out.push(...fixed)
    return out
  }
}

/** `*` is answered with the requested values: with credentials a browser treats a literal `*` as a name. */
function compileAllowed(
  name: string,
  requested: string,
  allowed: readonly string[],
  { allowCredentials }: Spec,
): (x: Exchange, out: string[]) => void {
  if (allowed.length === 0) return () => {}
  if (!allowed.includes('*')) {
    const value = allowed.join(',')
    return (_, out) => out.push(name, value)
  }
  return (x, out) => {
    const value = x.request.headers.get(requested) ?? (allowCredentials ? undefined : '*')
    if (value !== undefined) out.push(name, value)
  }
}

function wildcardsStandAlone(value: Record<string, unknown>): readonly ObjectProblem[] {
  return WILDCARDS.flatMap(name => {
    const entries = (value[name] ?? []) as readonly string[]
    return entries.includes('*') && entries.length > 1
      ? [problem([name, entries.indexOf('*')], '`*` covers everything: it must be the only entry', { at: 'value' })]
      : []
  })
}

export function convertCors(part: Fields): Policies {
  return defined({
    allowCredentials: part.allowCredentials,
    allowHeaders: strings(part.allowHeaders),
    allowMethods: strings(part.allowMethods),
    allowOrigins: strings(part.allowOrigins),
    exposeHeaders: strings(part.exposeHeaders),
    maxAge: `${typeof part.maxAge === 'number' ? part.maxAge : 5}s`,
  })
}

import { boolean, def, integer, type ObjectProblem, oneOf, opt, serverRule, string } from '../../../schema/builder.ts'
import { set } from '../../../schema/resource-scalars.ts'
import { problem } from '../resource.ts'

const headerName = string({ min: 1, max: 256, pattern: /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/, form: 'a header name or `*`' })
const origin = string({
  min: 1,
  max: 253,
  pattern: /^\*$|^https?:\/\/(\*\.)?([a-zA-Z0-9-]+\.)*[a-zA-Z0-9-]+(:[0-9]{1,5})?$|^https?:\/\/\*(:[0-9]{1,5})?$/,
  form: '`*`, or `http(s)://host[:port]` with `*.` in front of the host if wanted',
})
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', '*'] as const

/** Cross-origin resource sharing, as routes' filters and traffic policies write it. */
export const corsFields = {
  allowCredentials: opt(boolean, 'Lets pages send cookies and credentials.'),
  allowHeaders: opt(set(headerName, { max: 64 }), 'Request headers that pages may send; `*` alone for any.'),
  allowMethods: opt(set(oneOf(METHODS), { max: 9 }), 'Methods that pages may use; `*` alone for any.'),
  allowOrigins: opt(set(origin, { max: 64 }), 'Origins of the pages; `*` alone for any.'),
  exposeHeaders: opt(set(headerName, { max: 64 }), 'Response headers that pages may read.'),
  maxAge: def(integer(1), 5, 'Seconds for which a browser keeps the answer to a preflight.'),
}

const WILDCARDS = ['allowHeaders', 'allowMethods', 'allowOrigins']
export const corsServerRules = WILDCARDS.map(name =>
  serverRule(
    `!has(self.${name}) || self.${name}.size() == 1 || !('*' in self.${name})`,
    `${name} takes * only as its only entry`,
  ),
)
export function corsRules(value: Record<string, unknown>): readonly ObjectProblem[] {
  return WILDCARDS.flatMap(name => {
    const entries = (value[name] ?? []) as readonly string[]
    return entries.includes('*') && entries.length > 1
      ? [problem([name, entries.indexOf('*')], '`*` covers everything: it must be the only entry', { at: 'value' })]
      : []
  })
}

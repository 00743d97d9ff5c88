import { credentialValue } from '../../../policies/parts/header-changes.ts'
import {
  def,
  type Fields,
  integer,
  list,
  object,
  oneOf,
  opt,
  type PatternFields,
  req,
  string,
} from '../../../schema/builder.ts'
import { backendRef, parentRef } from '../../../schema/resource-references.ts'
import {
  dnsLabel,
  groupName,
  hostname,
  kindName,
  plainHeaderName,
  refName,
  resourceDuration,
  set,
  subdomain,
} from '../../../schema/resource-scalars.ts'
import { missing, problem, type Rule } from '../../../schema/rules.ts'
import { port } from '../../../schema/scalars.ts'

/** Common to all routes: the parents that they attach to. */
export const attachment = {
  parentRefs: opt(list(parentRef, { max: 32 }), 'The Gateways and listeners that the route attaches to.'),
  useDefaultGateways: opt(oneOf(['All', 'None']), 'Whether the route attaches to default Gateways.'),
}
export const routeHostnames = opt(list(hostname, { max: 16 }), 'The host names that the route is for; all when unset.')

export const parentsDiffer: Rule = value => {
  const seen = new Set<string>()
  return ((value.parentRefs ?? []) as readonly Record<string, unknown>[]).flatMap((ref, index) => {
    const key = JSON.stringify([ref.group, ref.kind, ref.namespace, ref.name, ref.sectionName, ref.port])
    if (!seen.has(key)) {
      seen.add(key)
      return []
    }
    const message = 'two parents are the same: give each another `sectionName` or `port`'
    return [{ path: ['parentRefs', index], at: 'value' as const, code: 'GW114' as const, message }]
  })
}

const refFields = {
  name: req(refName, 'The name.'),
  namespace: opt(dnsLabel, 'The namespace, if another; it then needs a ReferenceGrant there.'),
  group: def(groupName, '', 'The API group; empty for a Service.'),
  kind: def(kindName, 'Service', 'The kind.'),
  port: opt(port, 'The port; required for a Service.'),
}
const servicePort: Rule = value =>
  value.group === '' && value.kind === 'Service' && value.port === undefined
    ? [missing('port', 'a reference to a Service needs its port')]
    : []
const weight = def(integer(0, 1_000_000), 1, 'Its share of the requests.')

/** A weighted backend with the `filters` that the kind of route supports. */
export function routeBackend(more: Fields) {
  return object(
    'backend reference',
    { ...refFields, weight, ...more },
    { check: servicePort, refers: { to: 'backend', kind: 'Service' } },
  )
}

const headerValue = object(
  'header value',
  {
    name: req(plainHeaderName, 'The name of the header field.'),
    value: req(string({ min: 1, max: 4096 }), 'Its value.'),
  },
  { secretField: credentialValue },
)
export const headerModifier = object('header modifier', {
  set: opt(list(headerValue, { max: 16, unique: ['name'] }), 'Fields to replace.'),
  add: opt(list(headerValue, { max: 16, unique: ['name'] }), 'Fields to add.'),
  remove: opt(set(string(), { max: 16 }), 'Fields to remove.'),
})
const fraction = object(
  'fraction',
  { numerator: req(integer(0), 'The part.'), denominator: def(integer(1), 100, 'The whole.') },
  {
    check: ({ numerator, denominator }) =>
      (numerator as number) > (denominator as number)
        ? [problem(['numerator'], '`numerator` is greater than `denominator`', { at: 'value' })]
        : [],
  },
)
export const requestMirror = object(
  'request mirror',
  {
    backendRef: req(backendRef, 'Backend that receives the copies.'),
    percent: opt(integer(0, 100), 'The share of requests, in percent.'),
    fraction: opt(fraction, 'The share of requests.'),
  },
  { atMostOneOf: [['percent', 'fraction']] },
)
export const extensionRef = object('extension reference', {
  group: req(groupName, 'The API group.'),
  kind: req(kindName, 'The kind.'),
  name: req(refName, 'The name.'),
})

/** The filter member for each `type`. */
export function filterOf(name: string, members: Fields, types: Readonly<Record<string, string>>) {
  return object(
    name,
    { type: req(oneOf(Object.keys(types)), 'What the filter does.'), ...members },
    {
      check: value => {
        const wanted = types[value.type as string]!
        if (value[wanted] === undefined) return [missing(wanted, `\`type: ${String(value.type)}\` needs \`${wanted}\``)]
        return Object.keys(members)
          .filter(member => member !== wanted && value[member] !== undefined)
          .map(member => problem([member], `\`${member}\` does not go with \`type: ${String(value.type)}\``))
      },
    },
  )
}

/** Filters that may occur only once in a list. */
export function noRepeats(types: readonly string[], list: string): Rule {
  return value => {
    const filters = (value[list] ?? []) as readonly { readonly type: string }[]
    return filters.flatMap(({ type }, index) =>
      types.includes(type) && filters.findIndex(filter => filter.type === type) < index
        ? [
            {
              path: [list, index],
              at: 'value' as const,
              code: 'GW114' as const,
              message: `a second ${type} filter: one is the most`,
            },
          ]
        : [],
    )
  }
}

const cookie = object('session cookie', {
  name: opt(string({ min: 1, max: 256 }), 'Its name.'),
  path: def(string({ max: 1024 }), '/', 'The paths that it is sent with.'),
  lifetimeType: def(oneOf(['Permanent', 'Session']), 'Session', 'How long the client keeps it.'),
})
export const sessionPersistence = object(
  'session persistence',
  {
    type: def(oneOf(['Cookie', 'Header']), 'Cookie', 'What carries the session.'),
    absoluteTimeout: opt(resourceDuration(), 'Maximum lifetime of the session.'),
    idleTimeout: opt(resourceDuration(), 'Idle timeout of the session.'),
    cookie: opt(cookie, 'Settings of the cookie.'),
    header: opt(object('session header', { name: req(plainHeaderName, 'Its name.') }), 'Settings of the header.'),
  },
  { check: sessionRules },
)

function sessionRules(value: Record<string, unknown>): ReturnType<Rule> {
  const [own, other] = value.type === 'Header' ? ['header', 'cookie'] : ['cookie', 'header']
  const type = `\`type: ${String(value.type)}\``
  const { lifetimeType } = (value.cookie ?? {}) as { readonly lifetimeType?: string }
  return [
    ...(lifetimeType === 'Permanent' && value.absoluteTimeout === undefined
      ? [missing('absoluteTimeout', 'a permanent cookie needs `absoluteTimeout`')]
      : []),
    ...(value[own!] === undefined ? [missing(own!, `${type} needs \`${own}\``)] : []),
    ...(value[other!] === undefined ? [] : [problem([other!], `\`${other}\` does not go with ${type}`)]),
  ]
}

export const ruleName = opt(subdomain, 'The name of the rule; policies can target it.')

export const patternIn = (...names: readonly string[]): PatternFields => ({
  names,
  where: ({ type }) => type === 'RegularExpression',
})
export const namedValue = (name: string, key: Fields[string]) =>
  object(
    name,
    {
      type: def(oneOf(['Exact', 'RegularExpression']), 'Exact', 'How the value is compared.'),
      name: key,
      value: req(string({ min: 1, max: 4096 }), 'The value, or a pattern.'),
    },
    { secretField: credentialValue, patternFields: patternIn('value') },
  )

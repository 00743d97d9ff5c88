import { backendFields, tcpBackendFields } from '../../backends/index.ts'
import { backendPolicyFields, routePolicyFields, tcpRoutePolicyFields } from '../../policies/index.ts'
import { credentialValue } from '../../policies/parts/header-changes.ts'
import {
  def,
  type Infer,
  integer,
  list,
  object,
  opt,
  parsed,
  regex,
  req,
  type Schema,
  shapes,
  string,
} from '../../schema/builder.ts'
import { headerName } from '../../schema/scalars.ts'

const pathPrefix = string({ min: 1, max: 1024, pattern: /^\//, form: 'a path that starts with `/`' })

const pathMatch = object(
  'path match',
  {
    exact: opt(pathPrefix, 'The whole path, byte for byte.'),
    pathPrefix: opt(
      pathPrefix,
      'A prefix of whole path segments: `/foo` matches `/foo` and `/foo/bar`, not `/foobar`.',
    ),
    regex: opt(regex(true), 'A pattern for the whole path.'),
  },
  { exactlyOneOf: [['exact', 'pathPrefix', 'regex']], textMeans: 'pathPrefix' },
)

const valueMatch = (name: string) =>
  object(
    name,
    { exact: opt(string(), 'The whole value.'), regex: opt(regex(true), 'A pattern for the whole value.') },
    { exactlyOneOf: [['exact', 'regex']], textMeans: 'exact' },
  )

/** Methods are case-sensitive; those of HTTP are upper case. */
const method: Schema<string> = parsed(
  string({ min: 1, max: 32 }),
  'an HTTP method in capitals',
  value =>
    /^[A-Z]+$/.test(value)
      ? { value }
      : {
          problem: {
            message: `\`${value}\` is not an HTTP method: methods are in capitals`,
            ...(/^[A-Za-z]+$/.test(value) && {
              help: `write \`${value.toUpperCase()}\``,
              suggestion: value.toUpperCase(),
            }),
          },
        },
  'GET',
  { type: 'string', minLength: 1, maxLength: 32, pattern: '^[A-Z]+$' },
)

const routeMatch = object('route match', {
  path: def(pathMatch, { pathPrefix: '/' }, 'What the path must be.'),
  method: opt(method, 'The method; any when unset.'),
  headers: def(
    list(
      object(
        'header match',
        {
          name: req(headerName, 'Header or pseudo-header name.'),
          value: req(valueMatch('header value match'), 'What its value must be.'),
        },
        { secretField: credentialValue },
      ),
    ),
    [],
    'Header fields that must all match.',
  ),
  query: def(
    list(
      object('query match', {
        name: req(string({ min: 1 }), 'Parameter name.'),
        value: req(valueMatch('query value match'), 'What its value must be.'),
      }),
    ),
    [],
    'Query parameters that must all match.',
  ),
})
export type RouteMatch = Infer<typeof routeMatch>

/** An exact name, or `*.` and a name; `*` alone matches every host. */
export const hostname: Schema<string> = parsed(
  string({ max: 253 }),
  'a host name, or one with a leading `*.`',
  value => {
    if (/:\d+$/.test(value))
      return {
        problem: {
          message: `\`${value}\` has a port: routes match host names without ports`,
          suggestion: value.replace(/:\d+$/, ''),
        },
      }
    if (
      value === '' ||
      value === '*' ||
      /^(\*\.)?([A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?\.)*[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?\.?$/.test(value)
    )
      return { value: value.toLowerCase() }
    return { problem: { message: `\`${value}\` is not a host name`, help: 'write `example.com` or `*.example.com`' } }
  },
  'localhost',
  { type: 'string', maxLength: 253, pattern: '^(\\*|(\\*\\.)?[A-Za-z0-9_]([-A-Za-z0-9_.]*[A-Za-z0-9_])?\\.?)?$' },
)

const routePolicies = object('route policies', routePolicyFields)
export const backendPolicies = object('backend policies', backendPolicyFields)

const routeBackend = object(
  'backend',
  {
    weight: def(integer(0, 1_000_000), 1, 'Share of the requests among the backends of the route; 0 means none.'),
    policies: opt(backendPolicies, 'Policies for calls to this backend.'),
    ...backendFields,
  },
  { exactlyOneOf: [Object.keys(backendFields)] },
)

const routeIdentity = {
  name: opt(string({ min: 1 }), 'Name in logs, metrics and dumps.'),
  namespace: opt(string({ min: 1 }), 'Namespace in logs, metrics and dumps.'),
  ruleName: opt(string({ min: 1 }), 'Name of the rule, for policies that target it.'),
  hostnames: def(list(hostname), [], 'Hosts that the route serves; every host when empty.'),
}

const routeFields = {
  ...routeIdentity,
  matches: def(
    list(routeMatch, { min: 1 }),
    [{ path: { pathPrefix: '/' } }],
    'Conditions, at least one of which must match.',
  ),
  policies: opt(routePolicies, 'Policies for the requests of this route.'),
  backends: def(list(routeBackend), [], 'Where requests go.'),
}
export const routeSection = object('route', routeFields)
export type RouteSection = Infer<typeof routeSection>

export const gatewayRefs: Schema<readonly string[]> = parsed(
  shapes({ string: string({ min: 1 }), list: list(string({ min: 1 })) }),
  'the name of a gateway, `gateway/listener`, or a list of them',
  value => ({ value: typeof value === 'string' ? [value] : value }),
  [],
)
export const attachedRoute = object('route', {
  gateways: opt(
    gatewayRefs,
    'Gateways (`gw`) or listeners (`gw/listener`) that serve the route; the gateway `default` when unset.',
  ),
  ...routeFields,
})

const tcpRouteBackend = object(
  'TCP backend',
  {
    weight: def(integer(0, 1_000_000), 1, 'Share of the connections.'),
    policies: opt(object('TCP backend policies', tcpRoutePolicyFields), 'Policies for connections to this backend.'),
    ...tcpBackendFields,
  },
  { exactlyOneOf: [Object.keys(tcpBackendFields)] },
)
const tcpRouteFields = {
  ...routeIdentity,
  policies: opt(object('TCP route policies', tcpRoutePolicyFields), 'Policies of the route.'),
  backends: def(list(tcpRouteBackend), [], 'Where connections go.'),
}
export const tcpRouteSection = object('TCP route', tcpRouteFields)
export type TcpRouteSection = Infer<typeof tcpRouteSection>
export const attachedTcpRoute = object('TCP route', {
  gateways: opt(gatewayRefs, 'Gateways or listeners that serve the route.'),
  ...tcpRouteFields,
})

export const routeGroup = object('route group', {
  name: req(string({ min: 1 }), 'The name that `routeGroup` backends refer to.'),
  routes: req(list(routeSection), 'Routes that are matched again inside the group.'),
})

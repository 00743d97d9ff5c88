import { corsInCluster } from '../../policies/cors.ts'
import { def, integer, list, object, oneOf, opt, parsed, req, string } from '../../schema/builder.ts'
import { backendRef, GATEWAY_GROUP } from '../../schema/resource-references.ts'
import { plainHeaderName, preciseHostname, resourceDuration, set } from '../../schema/resource-scalars.ts'
import { all, missing, problem, type Rule } from '../../schema/rules.ts'
import { port } from '../../schema/scalars.ts'
import {
  attachment,
  extensionRef,
  filterOf,
  headerModifier,
  namedValue,
  noRepeats,
  parentsDiffer,
  patternIn,
  requestMirror,
  routeBackend,
  routeHostnames,
  ruleName,
  sessionPersistence,
} from './parts/route-parts.ts'
import { defineKind, foreignStatus } from './resource.ts'

const PATH_TEXT = /^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$/
const pathMatch = object(
  'path match',
  {
    type: def(oneOf(['Exact', 'PathPrefix', 'RegularExpression']), 'PathPrefix', 'How the path is compared.'),
    value: def(string({ max: 1024 }), '/', 'The path, or a pattern.'),
  },
  {
    textMeans: 'value',
    patternFields: patternIn('value'),
    instead: Object.fromEntries(
      [
        ['PathPrefix', 'pathPrefix', 'prefix', 'PathPrefix'],
        ['Exact', 'exact', 'path', 'Exact'],
        ['RegularExpression', 'regex', 'pattern', 'RegularExpression'],
      ].flatMap(([type, ...names]) => names.map(name => [name, `write \`type: ${type}\` and \`value: …\``])),
    ),
    check: ({ type, value }) => {
      const message = type === 'RegularExpression' ? undefined : pathProblem(value as string)
      return message === undefined ? [] : [problem(['value'], message, { at: 'value', code: 'GW106' })]
    },
  },
)

function pathProblem(path: string): string | undefined {
  if (!path.startsWith('/')) return `\`${path}\` does not start with \`/\``
  for (const part of ['//', '/./', '/../', '%2f', '%2F', '#']) {
    if (path.includes(part)) return `\`${path}\` has \`${part}\` in it: no request path would match`
  }
  if (path.endsWith('/..') || path.endsWith('/.')) return `\`${path}\` ends with a dot segment`
  return PATH_TEXT.test(path) ? undefined : `\`${path}\` has characters that a path cannot have: encode them with \`%\``
}

const match = object('match', {
  path: def(pathMatch, { type: 'PathPrefix', value: '/' }, 'The path.'),
  headers: opt(
    list(namedValue('header match', req(plainHeaderName, 'The name of the header field.')), {
      max: 16,
      unique: ['name'],
    }),
    'Header fields; all must match.',
  ),
  queryParams: opt(
    list(namedValue('query match', req(plainHeaderName, 'The name of the parameter.')), { max: 16, unique: ['name'] }),
    'Query parameters; all must match.',
  ),
  method: opt(oneOf(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH']), 'The method.'),
})

const pathModifier = object(
  'path modifier',
  {
    type: req(oneOf(['ReplaceFullPath', 'ReplacePrefixMatch']), 'What is replaced.'),
    replaceFullPath: opt(string({ max: 1024 }), 'The new path.'),
    replacePrefixMatch: opt(string({ max: 1024 }), 'Replacement for the matched prefix.'),
  },
  {
    check: value => {
      const full = value.type === 'ReplaceFullPath'
      const [wanted, other] = full
        ? ['replaceFullPath', 'replacePrefixMatch']
        : ['replacePrefixMatch', 'replaceFullPath']
      if (value[wanted!] === undefined) return [missing(wanted!, `\`type: ${String(value.type)}\` needs \`${wanted}\``)]
      return value[other!] === undefined
        ? []
        : [problem([other!], `\`${other}\` does not go with \`type: ${String(value.type)}\``)]
    },
  },
)
const STATUSES = [301, 302, 303, 307, 308]
const redirectStatus = parsed(
  integer(),
  `one of ${STATUSES.join(', ')}`,
  status =>
    STATUSES.includes(status)
      ? { value: status }
      : { problem: { message: `${status} is not one of ${STATUSES.join(', ')}` } },
  302,
)
const redirect = object('request redirect', {
  scheme: opt(oneOf(['http', 'https']), 'The scheme; the request’s own when unset.'),
  hostname: opt(preciseHostname, 'The host name; the request’s own when unset.'),
  path: opt(pathModifier, 'Changes to the path.'),
  port: opt(port, 'The port.'),
  statusCode: def(redirectStatus, 302, 'The status.'),
})
const rewrite = object('URL rewrite', {
  hostname: opt(preciseHostname, 'The host name that the backend sees.'),
  path: opt(pathModifier, 'Changes to the path.'),
})
const externalAuth = object(
  'external auth',
  {
    protocol: req(oneOf(['HTTP', 'GRPC']), 'How the service is called.'),
    backendRef: req(backendRef, 'The service.'),
    grpc: opt(
      object('gRPC auth', { allowedHeaders: opt(set(string(), { max: 64 }), 'Header fields to send.') }),
      'Settings for gRPC.',
    ),
    http: opt(
      object('HTTP auth', {
        path: opt(string(), 'The path of the check.'),
        allowedHeaders: opt(set(string(), { max: 64 }), 'Header fields to send.'),
        allowedResponseHeaders: opt(
          set(string(), { max: 64 }),
          'Header fields of the response to forward to the backend.',
        ),
      }),
      'Settings for HTTP.',
    ),
    forwardBody: opt(
      object('forwarded body', { maxSize: opt(integer(0, 65535), 'Bytes of the body to send.') }),
      'Also sends the request body.',
    ),
  },
  {
    check: value => {
      const [own, other] = value.protocol === 'GRPC' ? ['grpc', 'http'] : ['http', 'grpc']
      const protocol = `\`protocol: ${String(value.protocol)}\``
      return [
        ...(value[own!] === undefined ? [missing(own!, `${protocol} needs \`${own}\``)] : []),
        ...(value[other!] === undefined ? [] : [problem([other!], `\`${other}\` does not go with ${protocol}`)]),
      ]
    },
  },
)

const filter = filterOf(
  'filter',
  {
    requestHeaderModifier: opt(headerModifier, 'Changes to the request’s header.'),
    responseHeaderModifier: opt(headerModifier, 'Changes to the response’s header.'),
    requestMirror: opt(requestMirror, 'Copies requests to another backend.'),
    requestRedirect: opt(redirect, 'Redirects the client.'),
    urlRewrite: opt(rewrite, 'Changes the URL that the backend sees.'),
    cors: opt(corsInCluster, 'Which origins may read replies.'),
    externalAuth: opt(externalAuth, 'A service that authorizes each request.'),
    extensionRef: opt(extensionRef, 'A filter of another kind.'),
  },
  {
    RequestHeaderModifier: 'requestHeaderModifier',
    ResponseHeaderModifier: 'responseHeaderModifier',
    RequestMirror: 'requestMirror',
    RequestRedirect: 'requestRedirect',
    URLRewrite: 'urlRewrite',
    CORS: 'cors',
    ExternalAuth: 'externalAuth',
    ExtensionRef: 'extensionRef',
  },
)
const ONCE = ['RequestHeaderModifier', 'ResponseHeaderModifier', 'RequestRedirect', 'URLRewrite', 'CORS']
const filterRules: Rule = value => {
  const filters = (value.filters ?? []) as readonly { readonly type: string }[]
  const rewriteAt = filters.findIndex(({ type }) => type === 'URLRewrite')
  const both = rewriteAt >= 0 && filters.some(({ type }) => type === 'RequestRedirect')
  return both
    ? [problem(['filters', rewriteAt], 'a URLRewrite cannot be combined with a RequestRedirect', { at: 'value' })]
    : []
}
const filters = opt(list(filter, { max: 16 }), 'How requests and responses are processed.')

const retry = object('retry', {
  codes: opt(list(integer(400, 599)), 'Response statuses to retry.'),
  attempts: opt(integer(), 'Maximum number of retries.'),
  backoff: opt(resourceDuration(), 'Pause before a retry.'),
})
const timeouts = object(
  'timeouts',
  {
    request: opt(resourceDuration(), 'Timeout for the whole request; 0s for no limit.'),
    backendRequest: opt(resourceDuration(), 'Timeout for one call.'),
  },
  {
    check: ({ request, backendRequest }) =>
      request && backendRequest && (backendRequest as number) > (request as number)
        ? [problem(['backendRequest'], '`backendRequest` is longer than `request`', { at: 'value' })]
        : [],
  },
)

interface Filter {
  readonly type: string
  readonly requestRedirect?: { readonly path?: { readonly type: string } }
  readonly urlRewrite?: { readonly path?: { readonly type: string } }
}
const ruleRules: Rule = value => {
  const own = (value.filters ?? []) as readonly Filter[]
  const backends = (value.backendRefs ?? []) as readonly { readonly filters?: readonly Filter[] }[]
  const redirectAt = own.findIndex(({ type }) => type === 'RequestRedirect')
  if (redirectAt >= 0 && backends.length > 0) {
    return [
      problem(['filters', redirectAt], 'a RequestRedirect cannot be combined with `backendRefs`', { at: 'value' }),
    ]
  }
  const matches = value.matches as readonly { readonly path: { readonly type: string } }[]
  if (matches.length === 1 && matches[0]!.path.type === 'PathPrefix') return []
  const places: readonly [readonly (string | number)[], readonly Filter[]][] = [
    [['filters'], own],
    ...backends.map((ref, i): [readonly (string | number)[], readonly Filter[]] => [
      ['backendRefs', i, 'filters'],
      ref.filters ?? [],
    ]),
  ]
  return places.flatMap(([path, list]) =>
    list.flatMap((each, i) => {
      const modifier = each.requestRedirect?.path ?? each.urlRewrite?.path
      return modifier?.type === 'ReplacePrefixMatch'
        ? [
            problem([...path, i], 'ReplacePrefixMatch needs exactly one match in the rule, of type PathPrefix', {
              at: 'value',
            }),
          ]
        : []
    }),
  )
}
const rule = object(
  'route rule',
  {
    name: ruleName,
    matches: def(list(match, { max: 64 }), [{}], 'Which requests the rule is for: those that match one of these.'),
    filters,
    backendRefs: opt(list(routeBackend({ filters }), { max: 16 }), 'Where requests go.'),
    timeouts: opt(timeouts, 'How long requests may take.'),
    retry: opt(retry, 'Retries failed calls.'),
    sessionPersistence: opt(sessionPersistence, 'Keeps a client on one endpoint.'),
  },
  { check: all(noRepeats(ONCE, 'filters'), filterRules, ruleRules) },
)

const spec = object(
  'HTTP route',
  {
    ...attachment,
    hostnames: routeHostnames,
    rules: def(list(rule, { min: 1, max: 16 }), [{}], 'How requests are processed.'),
  },
  { check: all(parentsDiffer, ruleNamesDiffer) },
)
function ruleNamesDiffer(value: Record<string, unknown>) {
  const rules = value.rules as readonly { readonly name?: string; readonly matches?: readonly unknown[] }[]
  const total = rules.reduce((sum, { matches }) => sum + (matches?.length ?? 0), 0)
  if (total > 128)
    return [problem(['rules'], `the rules have ${total} matches together: at most 128`, { code: 'GW109' })]
  return rules.flatMap(({ name }, index) =>
    name !== undefined && rules.findIndex(other => other.name === name) < index
      ? [
          {
            path: ['rules', index, 'name'],
            at: 'value' as const,
            code: 'GW114' as const,
            message: `two rules are named \`${name}\``,
          },
        ]
      : [],
  )
}

export const httpRoute = defineKind(
  {
    kind: 'HTTPRoute',
    group: GATEWAY_GROUP,
    versions: ['v1', 'v1beta1'],
    namespaced: true,
  },
  { spec: req(spec, 'How requests are routed.'), status: foreignStatus },
)

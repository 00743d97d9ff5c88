import { def, list, object, oneOf, opt, req, string } from '../../schema/builder.ts'
import { GATEWAY_GROUP } from '../../schema/resource-references.ts'
import { plainHeaderName } from '../../schema/resource-scalars.ts'
import { all } from '../../schema/rules.ts'
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

const methodMatch = object(
  'method match',
  {
    type: def(oneOf(['Exact', 'RegularExpression']), 'Exact', 'How the values are compared.'),
    service: opt(string({ max: 1024 }), 'The gRPC service.'),
    method: opt(string({ max: 1024 }), 'The gRPC method.'),
  },
  {
    atLeastOneOf: [['service', 'method']],
    patternFields: patternIn('service', 'method'),
    check: value =>
      value.type !== 'Exact'
        ? []
        : (['service', 'method'] as const)
            .filter(name => value[name] !== undefined && !EXACT[name].test(value[name] as string))
            .map(name => ({
              path: [name],
              at: 'value' as const,
              code: 'GW106' as const,
              message: `\`${String(value[name])}\` is not a gRPC ${name}`,
            })),
  },
)
const EXACT = { service: /^[a-zA-Z_][-a-zA-Z_0-9]*(\.[a-zA-Z_][-a-zA-Z_0-9]*)*$/, method: /^[A-Za-z_][A-Za-z_0-9]*$/ }
const match = object('match', {
  method: opt(methodMatch, 'The service and method.'),
  headers: opt(
    list(namedValue('header match', req(plainHeaderName, 'The name of the header field.')), {
      max: 16,
      unique: ['name'],
    }),
    'Header fields; all must match.',
  ),
})
const filter = filterOf(
  'filter',
  {
    requestHeaderModifier: opt(headerModifier, 'Changes to the request’s header.'),
    responseHeaderModifier: opt(headerModifier, 'Changes to the response’s header.'),
    requestMirror: opt(requestMirror, 'Copies requests to another backend.'),
    extensionRef: opt(extensionRef, 'A filter of another kind.'),
  },
  {
    RequestHeaderModifier: 'requestHeaderModifier',
    ResponseHeaderModifier: 'responseHeaderModifier',
    RequestMirror: 'requestMirror',
    ExtensionRef: 'extensionRef',
  },
)
const filters = opt(list(filter, { max: 16 }), 'How requests and responses are processed.')
const rule = object(
  'route rule',
  {
    name: ruleName,
    matches: opt(list(match, { max: 64 }), 'Which calls the rule is for: those that match one of these.'),
    filters,
    backendRefs: opt(list(routeBackend({ filters }), { max: 16 }), 'Where calls go.'),
    sessionPersistence: opt(sessionPersistence, 'Keeps a client on one endpoint.'),
  },
  { check: all(noRepeats(['RequestHeaderModifier', 'ResponseHeaderModifier'], 'filters')) },
)
const spec = object(
  'gRPC route',
  {
    ...attachment,
    hostnames: routeHostnames,
    rules: opt(list(rule, { max: 16 }), 'How calls are processed.'),
  },
  { check: parentsDiffer },
)

export const grpcRoute = defineKind(
  {
    kind: 'GRPCRoute',
    group: GATEWAY_GROUP,
    versions: ['v1'],
    namespaced: true,
  },
  { spec: req(spec, 'How calls are routed.'), status: foreignStatus },
)

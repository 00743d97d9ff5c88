import { fullPlaceText, type Origin } from '../diagnostics/diagnostic.ts'
import { credentialValue } from '../policies/parts/header-changes.ts'
import {
  boolean,
  type Infer,
  integer,
  json,
  list,
  map,
  number,
  object,
  oneOf,
  opt,
  req,
  string,
} from '../schema/builder.ts'
import { valueAt } from './compile-context.ts'
import type { Listener, Pipeline, PolicyField, Route, Snapshot, TcpRoute, WeightedBackend } from './snapshot.ts'

/** The response of `/config_dump`: the runtime objects with the lines that define them. Already redacted. */
export type Dump = DumpDocument

export function dumpOf(snapshot: Snapshot, version: string): Dump {
  const listeners = snapshot.binds.flatMap(bind => bind.listeners.map(listener => ({ bind: bind.key, listener })))
  return {
    binds: snapshot.binds.map(bind => ({
      key: bind.key,
      port: bind.port,
      ...(bind.address === undefined ? {} : { address: bind.address }),
      protocol: bind.protocol,
      proxyProtocol: bind.frontend.proxyProtocol !== undefined,
      listeners: bind.listeners.map(l => l.key),
      origin: place(bind.origin),
    })),
    listeners: listeners.map(({ bind, listener }) => dumpListener(bind, listener)),
    routes: listeners.flatMap(({ listener }) => [
      ...routesBehind(listener).map(route => dumpRoute(listener, route)),
      ...listener.tcpRoutes.map(route => dumpTcpRoute(listener, route)),
    ]),
    backends: dumpBackends(
      snapshot,
      listeners.map(l => l.listener),
    ),
    policies: asList(valueAt(snapshot.redacted, ['policies'])),
    idlePolicies: (snapshot.idlePolicies ?? []).map(({ name, origin }) => ({ name, origin: place(origin) })),
    idleRouteGroups: snapshot.idleGroups.map(({ name, origin }) => ({ name, origin: place(origin) })),
    models: [
      ...asList(valueAt(snapshot.redacted, ['llm', 'models'])),
      ...asList(valueAt(snapshot.redacted, ['llm', 'virtualModels'])).map(model => ({ ...model, virtual: true })),
    ].map((model, i) => ({ ...model, origin: place(snapshot.modelOrigins[i]!) })),
    services: asList(valueAt(snapshot.redacted, ['services'])),
    workloads: asList(valueAt(snapshot.redacted, ['workloads'])),
    version: { version },
    config: valueAt(snapshot.redacted, ['config']) ?? {},
    frontendPolicies: valueAt(snapshot.redacted, ['frontendPolicies']) ?? {},
  }
}

function dumpListener(bind: string, listener: Listener) {
  return {
    key: listener.key,
    name: listener.name,
    gateway: listener.gateway,
    bind,
    hostname: listener.hostname,
    protocol: listener.protocol,
    ...(listener.tlsSpec === undefined ? {} : { tls: listener.tlsSpec }),
    policies: dumpPolicies(listener.pipeline),
    routes: listener.routes.map(r => r.key),
    origin: place(listener.origin),
  }
}

/** The routes of a listener and of the groups they delegate to, each once: a group can be reached in several ways. */
function routesBehind(listener: Listener): readonly Route[] {
  const out = new Set(listener.routes)
  for (const { backends } of out) {
    for (const { delegates } of backends) for (const route of delegates?.routes ?? []) out.add(route)
  }
  return [...out]
}

function dumpRoute(listener: Listener, route: Route) {
  return {
    key: route.key,
    name: route.name,
    namespace: route.namespace,
    ...(route.ruleName === undefined ? {} : { ruleName: route.ruleName }),
    kind: 'http' as const,
    listener: listener.key,
    hostnames: route.hostnames,
    matches: route.matches.map((match, i) => plainMatch(match, valueAt(route.shownMatches, [i]))),
    policies: dumpPolicies(route.pipeline),
    backends: route.backends.map(dumpUse),
    origin: place(route.origin),
  }
}

function dumpTcpRoute(listener: Listener, route: TcpRoute) {
  return {
    key: route.key,
    name: route.name,
    namespace: route.namespace,
    ...(route.ruleName === undefined ? {} : { ruleName: route.ruleName }),
    kind: 'tcp' as const,
    listener: listener.key,
    hostnames: route.hostnames,
    matches: [],
    policies: {},
    backends: route.backends.map(dumpUse),
    origin: place(route.origin),
  }
}

function dumpUse({ backend, weight, pipeline, delegates, origin }: WeightedBackend) {
  return {
    backend: backend.key,
    weight,
    ...(delegates === undefined
      ? {}
      : { routeGroup: delegates.name, routes: delegates.routes.map(route => route.key) }),
    policies: dumpPolicies(pipeline),
    origin: place(origin),
  }
}

/** `shown`: the match as it was written, redacted. */
function plainMatch({ path, method, headers, query }: Route['matches'][number], shown: unknown) {
  const value = (v: Route['matches'][number]['headers'][number]['value']) =>
    v.exact === undefined ? { regex: v.regex?.source } : { exact: v.exact }
  const header = (h: Route['matches'][number]['headers'][number], i: number) => ({
    name: h.name,
    value: credentialValue.where(h) ? valueAt(shown, ['headers', i, 'value']) : value(h.value),
  })
  return {
    path:
      path.exact !== undefined
        ? { exact: path.exact }
        : path.pathPrefix !== undefined
          ? { pathPrefix: path.pathPrefix }
          : { regex: path.regex?.source },
    ...(method === undefined ? {} : { method }),
    ...(headers.length === 0 ? {} : { headers: headers.map(header) }),
    ...(query.length === 0 ? {} : { query: query.map(q => ({ name: q.name, value: value(q.value) })) }),
  }
}

function dumpPolicies(pipeline: Pipeline) {
  return Object.fromEntries(
    pipeline.steps.map(({ policy, spec, origins, overridden, fields }) => [
      policy,
      {
        spec,
        origins: origins.map(place),
        ...(overridden ? { overridden: overridden.map(place) } : {}),
        ...(fields ? { fields: fields.map(dumpField) } : {}),
      },
    ]),
  )
}

function dumpField({ name, wonBy, overridden }: PolicyField) {
  return { name, wonBy: wonBy.map(place), overridden: overridden.map(place) }
}

function dumpBackends(snapshot: Snapshot, listeners: readonly Listener[]) {
  const seen = new Map<string, DumpDocument['backends'][number]>()
  const add = ({ backend, spec, origin }: WeightedBackend, own?: Pipeline): void => {
    if (!seen.has(backend.key))
      seen.set(backend.key, {
        key: backend.key,
        name: backend.name,
        kind: backend.kind,
        protocol: backend.protocol,
        spec,
        ...(own === undefined ? {} : { policies: dumpPolicies(own) }),
        ...(backend.health === undefined ? {} : { health: backend.health() }),
        origin: place(origin),
      })
  }
  for (const named of snapshot.backends.values()) add(named, named.pipeline)
  for (const listener of listeners) {
    for (const { backends } of routesBehind(listener))
      for (const backend of backends) if (!backend.delegates) add(backend)
  }
  return [...seen.values()]
}

function place(origin: Origin): string {
  return fullPlaceText(origin)
}

/** The file's own objects. Anything else was reported when the file was read. */
function asList(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(item => typeof item === 'object' && item !== null) : []
}

/**
 * The schema of a configuration dump as its consumers see it; `schemas/config-dump.schema.json` is generated from it.
 * Later versions may add fields, so consumers must ignore fields that they do not know.
 */
const grows = { open: true }
const origin = req(string(), '`file:line:column` of its definition.')
const any = map(json)

const idlePolicy = object('policy without effect', { name: req(string(), '`namespace/name`.'), origin }, grows)
const idleGroup = object('route group without effect', { name: req(string(), 'Name.'), origin }, grows)
const policyField = object(
  'field of a policy',
  {
    name: req(string(), 'Name.'),
    wonBy: req(list(string()), 'Where the effective value was set; several if values accumulate, none if it is lost.'),
    overridden: req(list(string()), 'Where it was also set, without effect here.'),
  },
  grows,
)
const policy = object(
  'policy in force',
  {
    spec: opt(json, 'As configured; secrets are `<redacted>`.'),
    origins: req(list(string()), 'Where it was set; several if rules accumulate.'),
    overridden: opt(list(string()), 'Where wider levels also set it, without effect here.'),
    fields: opt(list(policyField), 'If several levels set it: the source of each field.'),
  },
  grows,
)
const policies = req(map(policy), 'The policies in force here, by name.')

const bind = object(
  'bind',
  {
    key: req(string(), 'Key.'),
    port: req(integer(0, 65535), 'Configured port.'),
    address: opt(string(), 'Listen address; all addresses when unset.'),
    protocol: req(oneOf(['http', 'tls', 'tcp', 'udp']), 'What connections start with; `udp`: datagrams.'),
    proxyProtocol: opt(boolean, 'Whether connections may begin with a PROXY header.'),
    listeners: req(list(string()), 'Keys of its listeners.'),
    origin,
  },
  grows,
)

const listener = object(
  'listener',
  {
    key: req(string(), 'Key.'),
    name: req(string(), 'Name.'),
    gateway: req(string(), 'The gateway it belongs to.'),
    bind: req(string(), 'Key of its bind.'),
    hostname: req(string(), 'Exact, `*.suffix`, or empty for every host.'),
    protocol: req(oneOf(['HTTP', 'HTTPS', 'TLS', 'TCP', 'UDP', 'HBONE']), 'Protocol.'),
    tls: opt(json, 'Its TLS settings as configured; secrets are `<redacted>`.'),
    policies,
    routes: req(list(string()), 'Keys of its routes.'),
    origin,
  },
  grows,
)

const use = object(
  'use of a backend',
  {
    backend: req(string(), 'Key of the backend.'),
    weight: req(number(0), 'Share of the requests.'),
    routeGroup: opt(string(), 'The route group it delegates to.'),
    routes: opt(list(string()), 'Keys of the routes of that group.'),
    policies,
    origin,
  },
  grows,
)

const route = object(
  'route',
  {
    key: req(string(), 'Key.'),
    name: req(string(), 'Name.'),
    namespace: req(string(), 'Namespace.'),
    ruleName: opt(string(), 'Name of the rule.'),
    kind: req(oneOf(['http', 'tcp']), 'What it routes: requests or connections.'),
    listener: req(string(), 'Key of its listener.'),
    hostnames: req(list(string()), 'Hosts; all when empty.'),
    matches: req(list(any), 'Conditions, at least one of which must match.'),
    policies,
    backends: req(list(use), 'Backends, by weight.'),
    origin,
  },
  grows,
)

const backend = object(
  'backend',
  {
    key: req(string(), 'Key.'),
    name: req(string(), 'Name.'),
    kind: req(string(), 'Kind.'),
    protocol: req(string(), 'Protocol used to call it.'),
    spec: opt(json, 'As configured; secrets are `<redacted>`.'),
    policies: opt(map(policy), 'Policies of a named backend, by name.'),
    health: opt(json, 'Health of its endpoints.'),
    origin,
  },
  grows,
)

export const configDump = object(
  'configuration dump',
  {
    binds: req(list(bind), 'Open ports.'),
    listeners: req(list(listener), 'Listeners of the ports.'),
    routes: req(list(route), 'Routes of the listeners.'),
    backends: req(list(backend), 'Backends: named ones and those of routes.'),
    policies: req(list(any), 'Policies with targets, as configured.'),
    idlePolicies: opt(list(idlePolicy), 'Policies whose targets match no object.'),
    idleRouteGroups: opt(list(idleGroup), 'Route groups that no route delegates to.'),
    models: opt(list(any), 'Models of the `llm` section, as configured, with their `origin`.'),
    services: req(list(any), 'Services of the file.'),
    workloads: req(list(any), 'Workloads of the file.'),
    version: req(any, 'The version of the gateway.'),
    config: req(json, 'Settings of the process, as configured.'),
    frontendPolicies: opt(json, 'Policies for connections and requests on every port, as configured.'),
  },
  grows,
)

export type DumpDocument = Infer<typeof configDump>

/** The fields that an object of a section (`routes`, `binds`, …) may have. Empty for free-form sections. */
export function dumpFields(section: string): readonly string[] {
  const { node: dump } = configDump
  const node = dump.kind === 'object' ? dump.fields[section]?.schema.node : undefined
  const item = node?.kind === 'list' ? node.item.node : undefined
  return item?.kind === 'object' ? Object.keys(item.fields) : []
}

import type { Origin } from '../diagnostics/diagnostic.ts'
import { valueAt } from './compile-context.ts'
import type { DumpDocument } from './dump-schema.ts'
import type { Listener, Pipeline, Route, Snapshot, TcpRoute, WeightedBackend } from './snapshot.ts'

/**
 * What `/config_dump` answers: the runtime objects with the lines that made them (src/config/dump-schema.ts). Secrets
 * are gone before this point.
 */
export type Dump = DumpDocument

export function dumpOf(snapshot: Snapshot, version: string): Dump {
  const listeners = snapshot.binds.flatMap(bind => bind.listeners.map(listener => ({ bind: bind.key, listener })))
  return {
    binds: snapshot.binds.map(bind => ({
      key: bind.key,
      port: bind.port,
      protocol: bind.protocol,
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
    models: [
      ...asList(valueAt(snapshot.redacted, ['llm', 'models'])),
      ...asList(valueAt(snapshot.redacted, ['llm', 'virtualModels'])).map(model => ({ ...model, virtual: true })),
    ],
    services: asList(valueAt(snapshot.redacted, ['services'])),
    workloads: asList(valueAt(snapshot.redacted, ['workloads'])),
    version: { version },
    config: valueAt(snapshot.redacted, ['config']) ?? {},
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
    policies: dumpPolicies(listener.pipeline),
    routes: listener.routes.map(r => r.key),
    origin: place(listener.origin),
  }
}

/** The routes of a listener and of the groups that they lead to, each once: many ways may lead to one group. */
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
    matches: route.matches.map(plainMatch),
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

function plainMatch({ path, method, headers, query }: Route['matches'][number]) {
  const value = (v: Route['matches'][number]['headers'][number]['value']) =>
    v.exact === undefined ? { regex: v.regex?.source } : { exact: v.exact }
  return {
    path:
      path.exact !== undefined
        ? { exact: path.exact }
        : path.pathPrefix !== undefined
          ? { pathPrefix: path.pathPrefix }
          : { regex: path.regex?.source },
    ...(method === undefined ? {} : { method }),
    ...(headers.length === 0 ? {} : { headers: headers.map(h => ({ name: h.name, value: value(h.value) })) }),
    ...(query.length === 0 ? {} : { query: query.map(q => ({ name: q.name, value: value(q.value) })) }),
  }
}

function dumpPolicies(pipeline: Pipeline) {
  return Object.fromEntries(
    pipeline.steps.map(({ policy, spec, origins, overridden }) => [
      policy,
      { spec, origins: origins.map(place), ...(overridden ? { overridden: overridden.map(place) } : {}) },
    ]),
  )
}

function dumpBackends(snapshot: Snapshot, listeners: readonly Listener[]) {
  const seen = new Map<string, DumpDocument['backends'][number]>()
  const add = ({ backend, spec, origin }: Pick<WeightedBackend, 'backend' | 'spec' | 'origin'>): void => {
    if (!seen.has(backend.key))
      seen.set(backend.key, {
        key: backend.key,
        name: backend.name,
        kind: backend.kind,
        protocol: backend.protocol,
        spec,
        ...(backend.health === undefined ? {} : { health: backend.health() }),
        origin: place(origin),
      })
  }
  for (const named of snapshot.backends.values()) add(named)
  for (const listener of listeners) {
    for (const { backends } of routesBehind(listener))
      for (const backend of backends) if (!backend.delegates) add(backend)
  }
  return [...seen.values()]
}

function place(origin: Origin): string {
  return `${origin.file}:${origin.line}:${origin.col}`
}

/** The file's own objects; what is none of them was reported when the file was read. */
function asList(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(item => typeof item === 'object' && item !== null) : []
}

import type { Origin } from '../diagnostics/diagnostic.ts'
import { valueAt } from './compile-context.ts'
import type { Listener, Pipeline, Route, Snapshot, WeightedBackend } from './snapshot.ts'

/** What `/config_dump` answers: the runtime objects with the lines that made them. Secrets are gone before this point. */
export interface Dump {
  readonly binds: readonly unknown[]
  readonly listeners: readonly unknown[]
  readonly routes: readonly unknown[]
  readonly backends: readonly unknown[]
  readonly policies: readonly unknown[]
  readonly services: readonly unknown[]
  readonly workloads: readonly unknown[]
  readonly version: { readonly version: string }
  readonly config: unknown
}

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
    routes: listeners.flatMap(({ listener }) => routesBehind(listener).map(route => dumpRoute(listener, route))),
    backends: dumpBackends(
      snapshot,
      listeners.map(l => l.listener),
    ),
    policies: asList(valueAt(snapshot.redacted, ['policies'])),
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
    listener: listener.key,
    hostnames: route.hostnames,
    matches: route.matches.map(plainMatch),
    policies: dumpPolicies(route.pipeline),
    backends: route.backends.map(b => ({
      backend: b.backend.key,
      ...(b.delegates ? { routes: b.delegates.routes.map(member => member.key) } : {}),
      weight: b.weight,
      policies: dumpPolicies(b.pipeline),
      origin: place(b.origin),
    })),
    origin: place(route.origin),
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
    pipeline.steps.map(step => [step.policy, { spec: step.spec, origins: step.origins.map(place) }]),
  )
}

function dumpBackends(snapshot: Snapshot, listeners: readonly Listener[]) {
  const seen = new Map<string, unknown>()
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

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

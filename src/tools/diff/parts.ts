import type { BackendDefinition } from '../../backends/backend.ts'
import { backends } from '../../backends/index.ts'
import { llmSection } from '../../config/standalone/llm-section.ts'
import { standalone } from '../../config/standalone/standalone.ts'
import type { Path } from '../../diagnostics/diagnostic.ts'
import type { AnyPolicy } from '../../policies/fields.ts'
import { frontendPolicies, trafficPolicies } from '../../policies/index.ts'
import type { Schema } from '../../schema/builder.ts'
import { Leaf, type Settled, type SettledMap, settle } from '../../schema/settle.ts'
import type { DumpBackend, DumpDocument, DumpPolicies, DumpRoute } from '../config-dump/model.ts'
import { matchWords } from '../config-dump/views.ts'
import { meaningOf } from './differences.ts'

export type PartKind =
  | 'bind'
  | 'listener'
  | 'route'
  | 'policy'
  | 'backend'
  | 'target'
  | 'model'
  | 'service'
  | 'workload'
  | 'settings'
  | 'file'

/** An object of a configuration for comparison: its own content, without nested objects. */
export interface Part {
  readonly kind: PartKind
  /** Unique among its siblings of the same kind. */
  readonly name: string
  /** When false, its name is only its position. */
  readonly named: boolean
  readonly label: string
  /** A short description of what it does. */
  readonly summary: string
  /** As written. */
  readonly written: unknown
  settled(): Settled
  readonly place: Place
  readonly parts: readonly Part[]
  /** Keys of the routes that a change may affect. */
  readonly routes: readonly string[] | 'all'
}

export interface Place {
  /** `file:line:column`; empty if unknown. */
  readonly origin: string
  /** Its path in the document, if known. */
  readonly path?: Path
  /** Whether a path is the object's own, and not that of something else written at the same place. */
  readonly ends?: (path: Path) => boolean
  /** The path from there to what is compared. */
  readonly inner?: Path | 'parent'
  /** For a policy merged from several levels: the origin of each field. */
  readonly fields?: ReadonlyMap<string, string>
}

/** New backend names by old name. */
export type Renames = ReadonlyMap<string, string>
const NO_RENAMES: Renames = new Map()

/** The key of the backend for the `llm` section. */
const LLM = 'llm:router'

type Fields = Readonly<Record<string, unknown>>

/** Ports with their listeners, routes and policies. */
export function bindParts(dump: DumpDocument, renames: Renames = NO_RENAMES): readonly Part[] {
  const backendsByKey = new Map(dump.backends.map(backend => [backend.key, backend]))
  const routes = Map.groupBy(dump.routes, route => route.listener)
  const listeners = Map.groupBy(dump.listeners, listener => listener.bind)
  const keysOf = (listener: string) => (routes.get(listener) ?? []).map(route => route.key)
  return dump.binds.map(bind =>
    part('bind', bind.key, {
      label: `port ${bind.port}`,
      // Unknown in dumps of other systems.
      written: bind.proxyProtocol === true ? { proxyProtocol: true } : {},
      place: { origin: bind.origin, ends: path => path.at(-2) === 'binds' || path.at(-2) === 'gateways' },
      routes: bind.listeners.flatMap(keysOf),
      parts: (listeners.get(bind.key) ?? []).map(listener => {
        const { key, name, hostname, protocol, tls } = listener
        const written = { hostname, protocol, ...(tls === undefined ? {} : { tls }) }
        const label = `listener ${name} of port ${bind.port}`
        const own = routes.get(key) ?? []
        const competing = competingRoutes(own)
        const inside = own.map(route => routePart(route, competing.has(route), backendsByKey, renames))
        return part('listener', name, {
          named: !/^listener\d+$/.test(name),
          label,
          written,
          place: { origin: listener.origin, ends: path => path.at(-2) === 'listeners' || path.at(-2) === 'gateways' },
          routes: keysOf(key),
          parts: [...policyParts(listener.policies, label, keysOf(key)), ...inside],
        })
      }),
    }),
  )
}

/** Routes with equal conditions compete by name, which for an unnamed route is its position, or by number. */
function competingRoutes(routes: readonly DumpRoute[]): ReadonlySet<DumpRoute> {
  const alike = Map.groupBy(routes, ({ hostnames, matches }) => JSON.stringify([hostnames, matches]))
  return new Set([...alike.values()].filter(group => group.length > 1).flat())
}

function routePart(
  route: DumpRoute,
  competes: boolean,
  byKey: ReadonlyMap<string, DumpBackend>,
  renames: Renames,
): Part {
  const label = `route ${route.namespace}/${route.name}`
  const routes = [route.key]
  const uses = route.backends.map((use, i) => {
    const { backend: key, weight, routeGroup } = use
    const inline = key.startsWith(`/${route.key}/`) ? byKey.get(key) : undefined
    const target = renames.get(key) ?? key
    const what =
      routeGroup === undefined ? (inline ? { [inline.kind]: inline.spec } : { backend: target }) : { routeGroup }
    return {
      written: { ...what, weight },
      settled: (): SettledMap => ({
        ...(routeGroup !== undefined || inline === undefined
          ? mapValues(what, (_, name) => new Leaf(name === 'backend' ? key : routeGroup, JSON.stringify(what), false))
          : { [inline.kind]: settle(backendSchema(inline.kind), inline.spec) }),
        weight: settle(undefined, weight),
      }),
      policies: policyParts(use.policies, `backend ${inline || routeGroup ? i : key} of ${label}`, routes, {
        name: inline || routeGroup ? `${i}` : target,
        named: !inline,
      }),
    }
  })
  const { hostnames, matches, ruleName } = route
  const key = route.key.slice(route.listener.length + 1)
  const own = { hostnames: hostnames.toSorted(), matches, ...(ruleName === undefined ? {} : { ruleName }) }
  return part('route', `${competes ? key : withoutNumber(key)} ${ruleName ?? ''}`, {
    named: competes || !/^route\d+$/.test(route.name),
    label,
    summary: [...hostnames, matches.map(matchWords).join(' | ')].join(' '),
    written: { ...own, backends: uses.map(use => use.written) },
    settled: () => ({ ...(settle(undefined, own) as SettledMap), backends: uses.map(use => use.settled()) }),
    place: {
      origin: route.origin,
      ends: path => /^(routes|tcpRoutes|llm|mcp)$/.test(String(path.at(-2) ?? path.at(-1))),
    },
    routes,
    parts: [...policyParts(route.policies, label, routes), ...uses.flatMap(use => use.policies)],
  })
}

/** The number of a route among those with its name says nothing: they may have swapped places. */
function withoutNumber(key: string): string {
  return key.replace(/#\d+$/, '')
}

/** Backends with names of their own, and the sections that are backends. */
export function backendParts(dump: DumpDocument): readonly Part[] {
  const routes = new Set(dump.routes.map(route => route.key))
  const inline = ({ key }: DumpBackend) => routes.has(key.slice(1, key.lastIndexOf('/')))
  return dump.backends
    .filter(backend => !inline(backend))
    .map(({ key, kind, spec, origin, policies: held }) => {
      const section = key === LLM
      const { models, virtualModels, policies, targets, ...own } = isFields(spec) ? spec : {}
      const rest = section ? own : kind === 'mcp' && isFields(spec) ? { ...own, targets: [] } : spec
      const users = dump.routes.filter(route => route.backends.some(use => use.backend === key)).map(route => route.key)
      const schema = section ? llmSection : backendSchema(kind)
      const label = section || key === 'mcp' ? `${kind} section` : `backend ${key}`
      const inside =
        kind === 'mcp' && Array.isArray(targets)
          ? targets.filter(isFields).map((each, i) => targetPart(key, each, i, { origin, users }))
          : []
      return part('backend', key, {
        label,
        written: { [kind]: rest },
        settled: () => ({ [kind]: settle(schema, rest) }),
        place: { origin, ends: path => path.at(-1) === kind, inner: 'parent' },
        routes: users,
        parts: [...policyParts(held ?? {}, label, users), ...inside],
      })
    })
}

function targetPart(
  backend: string,
  target: Fields,
  i: number,
  { origin, users }: { readonly origin: string; readonly users: readonly string[] },
): Part {
  const { name, ...own } = target
  return part('target', String(name), {
    label: `target ${String(name)} of backend ${backend}`,
    written: own,
    settled: () => {
      const { name: _, ...rest } = settle(itemOf(backendSchema('mcp'), 'targets'), target) as SettledMap
      return rest
    },
    place: { origin, inner: ['targets', i], ends: path => path.at(-1) === 'mcp' },
    routes: users,
    parts: [],
  })
}

/** The file's content besides its ports: policies with a target, models, services, settings. */
export function writtenParts(dump: DumpDocument): readonly Part[] {
  const idle = new Set((dump.idlePolicies ?? []).map(({ name }) => name))
  const models = dump.models ?? []
  const asking = dump.routes.filter(({ backends }) => backends.some(use => use.backend === LLM)).map(({ key }) => key)
  const concrete = models.filter(({ virtual }) => virtual !== true).length
  return [
    ...dump.policies.map((policy, i) => targetedPart(policy, i, idle)),
    ...models.map((model, i) => {
      const [list, at] = model.virtual === true ? (['virtualModels', i - concrete] as const) : (['models', i] as const)
      const { name, virtual: _, origin: __, ...own } = model
      return listed('model', String(name), own, itemOf(llmSection, list), ['llm', list, at], asking)
    }),
    ...dump.services.map((each, i) =>
      listed('service', `${String(each.namespace)}/${String(each.hostname)}`, each, itemOf(standalone, 'services'), [
        'services',
        i,
      ]),
    ),
    ...dump.workloads.map((each, i) =>
      listed('workload', String(each.uid ?? each.name ?? i), each, itemOf(standalone, 'workloads'), ['workloads', i]),
    ),
    listed('settings', 'config', dump.config ?? {}, fieldOf(standalone, 'config'), ['config']),
    ...Object.entries(isFields(dump.frontendPolicies) ? dump.frontendPolicies : {}).map(([name, spec]) =>
      listed('policy', `${name} of every port`, spec, schemaNamed(frontendPolicies, name), ['frontendPolicies', name]),
    ),
  ]
}

/** Where it applies, it is compared by its effect there. */
function targetedPart(policy: Fields, i: number, idle: ReadonlySet<string>): Part {
  const { name, target, phase, policy: body } = policy
  const full = isFields(name) ? `${String(name.namespace ?? 'default')}/${String(name.name)}` : String(name)
  const kinds = isFields(body) ? Object.keys(body) : []
  const own = { target, ...(phase === undefined ? {} : { phase }), ...(idle.has(full) ? { policy: body } : {}), kinds }
  return listed('policy', full, own, itemOf(standalone, 'policies'), ['policies', i], [])
}

function policyParts(
  policies: DumpPolicies,
  holder: string,
  routes: readonly string[],
  use?: { readonly name: string; readonly named: boolean },
): Part[] {
  return Object.entries(policies as Readonly<Record<string, DumpPolicies[string]>>).map(([name, each]) => {
    const fields = new Map(
      (each.fields ?? []).flatMap(field => field.wonBy.slice(0, 1).map(at => [field.name, at] as const)),
    )
    return part('policy', use === undefined ? name : `${use.name} ${name}`, {
      named: use?.named ?? true,
      label: `policy ${name} of ${holder}`,
      written: { [name]: each.spec },
      settled: () => settle(schemaNamed(trafficPolicies, name), each.spec),
      place: { origin: each.origins.at(-1) ?? '', ends: path => path.at(-1) === name, fields },
      routes,
      parts: [],
    })
  })
}

/** Equal text for equivalent specs of a policy. */
export function policyMeaning(name: string, spec: unknown): string {
  return meaningOf(settle(schemaNamed(trafficPolicies, name), spec))
}

function listed(
  kind: PartKind,
  name: string,
  written: unknown,
  schema: Schema<unknown> | undefined,
  path: Path,
  routes: Part['routes'] = 'all',
): Part {
  const label = kind === 'settings' ? 'settings' : `${kind} ${name}`
  const settled = () => settle(schema, written)
  return part(kind, name, { label, written, settled, place: { origin: '', path }, routes, parts: [] })
}

function part(
  kind: PartKind,
  name: string,
  rest: Partial<Part> & Pick<Part, 'label' | 'written' | 'place' | 'routes' | 'parts'>,
): Part {
  return { kind, name, named: true, summary: '', settled: () => settle(undefined, rest.written), ...rest }
}

function schemaNamed(list: readonly AnyPolicy[], name: string): Schema<unknown> | undefined {
  return list.find(policy => policy.name === name)?.schema
}

// biome-ignore lint/suspicious/noExplicitAny: the list holds definitions of every spec; only their schemas are read
function backendSchema(kind: string, all: readonly BackendDefinition<string, any>[] = backends) {
  return all.find(backend => backend.kind === kind)?.schema as Schema<unknown> | undefined
}

function fieldOf(schema: Schema<unknown> | undefined, name: string): Schema<unknown> | undefined {
  return schema?.node.kind === 'object' ? schema.node.fields[name]?.schema : undefined
}

function itemOf(schema: Schema<unknown> | undefined, field: string): Schema<unknown> | undefined {
  const list = fieldOf(schema, field)?.node
  return list?.kind === 'list' ? list.item : undefined
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function mapValues(
  value: Readonly<Record<string, unknown>>,
  change: (item: unknown, name: string) => Settled,
): SettledMap {
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, change(item, name)]))
}

import type { Column } from '../terminal/text-table.ts'
import type { DumpBackend, DumpDocument, DumpPolicies, DumpRoute } from './model.ts'

export const VIEWS = ['binds', 'listeners', 'routes', 'policies', 'backends', 'models', 'mcp', 'summary'] as const
export type ViewName = (typeof VIEWS)[number]

/** A view: its objects as data, and as rows of text. */
export interface View {
  readonly columns: readonly Column[]
  readonly rows: readonly ViewRow[]
}

export interface ViewRow {
  /** Printed by `-o json`. */
  readonly value: unknown
  readonly cells: readonly string[]
  /** `file:line:column`; several where rules accumulate. */
  readonly origins: readonly string[]
}

export function viewOf(name: ViewName, dump: DumpDocument): View {
  return VIEW[name](dump)
}

const VIEW: { readonly [N in ViewName]: (dump: DumpDocument) => View } = {
  binds: dump => ({
    columns: columns('…BIND', 'PORT>', 'PROTOCOL', 'LISTENERS>', 'ROUTES>'),
    rows: dump.binds.map(bind => {
      const routes = dump.routes.filter(route => bind.listeners.includes(route.listener)).length
      return row(bind, [bind.key, bind.port, bind.protocol, bind.listeners.length, routes])
    }),
  }),
  listeners(dump) {
    const routes = countBy(dump.routes.map(route => route.listener))
    return {
      columns: columns('…LISTENER', '…BIND', 'HOSTNAME', 'PROTOCOL', 'ROUTES>', 'POLICIES'),
      rows: dump.listeners.map(listener => {
        const { key, bind, hostname, protocol, policies } = listener
        return row(listener, [key, bind, hostname || '*', protocol, routes.get(key) ?? 0, namesOf(policies)])
      }),
    }
  },
  routes(dump) {
    const backends = new Map(dump.backends.map(backend => [backend.key, backend]))
    return {
      columns: columns('…ROUTE', '…LISTENER', 'HOSTS', 'MATCH', 'POLICIES', 'BACKENDS'),
      rows: dump.routes.map(route =>
        row(route, [
          `${route.namespace}/${route.name}`,
          route.listener,
          route.hostnames.join(' ') || '*',
          route.kind === 'tcp' ? '(connections)' : route.matches.map(matchWords).join(' | ') || '/*',
          namesOf(route.policies),
          route.backends.map(use => useWords(use, route, backends.get(use.backend))).join(' ') || '-',
        ]),
      ),
    }
  },
  policies: dump => ({
    columns: columns('POLICY', '…AT', 'OVERRIDES>'),
    rows: [
      ...dump.listeners.flatMap(({ key, policies }) => policyRows(`listener ${key}`, policies)),
      ...dump.routes.flatMap(route => [
        ...policyRows(`route ${route.namespace}/${route.name}`, route.policies),
        ...route.backends.flatMap(use => policyRows(`backend ${use.backend}`, use.policies)),
      ]),
    ],
  }),
  backends(dump) {
    const uses = countBy(dump.routes.flatMap(route => route.backends.map(use => use.backend)))
    return {
      columns: columns('…BACKEND', 'KIND', 'PROTOCOL', 'ENDPOINT', 'STATE', 'HEALTH>', 'LATENCY>', 'ROUTES>'),
      rows: dump.backends.flatMap(backend => backendRows(backend, uses.get(backend.key) ?? 0)),
    }
  },
  models: dump => ({
    columns: columns('MODEL', 'KIND', 'PROVIDER', 'SENT AS', 'VISIBILITY'),
    rows: (dump.models ?? []).map(model => {
      const params = isFields(model.params) ? model.params : {}
      const kind = model.virtual === true ? 'virtual' : 'concrete'
      const visible = typeof model.visibility === 'string' ? model.visibility : 'public'
      return row(model, [wordsOf(model.name), kind, nameOrKey(model.provider), wordsOf(params.model), visible])
    }),
  }),
  mcp: dump => ({
    columns: columns('…BACKEND', 'TARGET', 'TRANSPORT', 'ENDPOINT'),
    rows: dump.backends.filter(({ kind }) => kind === 'mcp').flatMap(mcpRows),
  }),
  summary: dump => ({
    columns: columns('OBJECTS', 'COUNT>', 'OF WHICH'),
    // Counts policies as their own view does: wherever they apply, not only those with a target.
    rows: [
      countRow(
        'binds',
        dump.binds,
        dump.binds.map(bind => `${bind.port}`),
      ),
      countRow(
        'listeners',
        dump.listeners,
        dump.listeners.map(listener => listener.protocol),
      ),
      countRow(
        'routes',
        dump.routes,
        dump.routes.map(route => route.kind),
      ),
      countRow(
        'backends',
        dump.backends,
        dump.backends.map(backend => backend.kind),
      ),
      countRow(
        'policies',
        VIEW.policies(dump).rows,
        VIEW.policies(dump).rows.flatMap(({ cells }) => cells.slice(0, 1)),
      ),
      countRow(
        'models',
        dump.models ?? [],
        (dump.models ?? []).map(model => nameOrKey(model.provider)),
      ),
      countRow('services', dump.services, []),
      countRow('workloads', dump.workloads, []),
    ],
  }),
}

/** `TITLE>` is right-aligned; `…TITLE` is truncated at the start. */
function columns(...titles: readonly string[]): readonly Column[] {
  return titles.map(title => ({
    title: title.replace(/^…|>$/g, ''),
    align: title.endsWith('>') ? 'right' : 'left',
    keepsEnd: title.startsWith('…'),
  }))
}

function row(value: { readonly origin?: unknown }, cells: readonly (string | number)[]): ViewRow {
  const { origin } = value
  return { value, cells: cells.map(String), origins: typeof origin === 'string' && origin !== '' ? [origin] : [] }
}

function policyRows(at: string, policies: DumpPolicies): ViewRow[] {
  return Object.entries(policies as Readonly<Record<string, DumpPolicies[string]>>).map(([policy, use]) => ({
    value: { policy, at, ...use },
    cells: [policy, at, String(use.overridden?.length ?? 0)],
    origins: use.origins,
  }))
}

function backendRows(backend: DumpBackend, routes: number): ViewRow[] {
  const { key, kind, protocol, spec } = backend
  const health = Array.isArray(backend.health) ? backend.health.filter(isFields) : []
  const endpoints = health.length > 0 ? health : [{ endpoint: endpointOf(spec) }]
  return endpoints.map((each, i) => {
    const first = i === 0 ? [key, kind, protocol] : ['', '', '']
    const score = typeof each.health === 'number' ? each.health.toFixed(2) : '-'
    const latency = typeof each.latency === 'number' ? `${each.latency.toFixed(1)}ms` : '-'
    const state = wordsOf(each.state)
    return { ...row(backend, [...first, wordsOf(each.endpoint), state, score, latency, i === 0 ? routes : '']) }
  })
}

function mcpRows(backend: DumpBackend): ViewRow[] {
  const spec = isFields(backend.spec) ? backend.spec : {}
  const mcp = isFields(spec.mcp) ? spec.mcp : spec
  const targets = Array.isArray(mcp.targets) ? mcp.targets.filter(isFields) : []
  return targets.map(target => {
    const transport = ['mcp', 'sse', 'stdio', 'openapi'].find(kind => isFields(target[kind])) ?? '-'
    const settings = isFields(target[transport]) ? target[transport] : {}
    const command = [settings.cmd, ...(Array.isArray(settings.args) ? settings.args : [])].map(wordsOf).join(' ')
    const endpoint = transport === 'stdio' ? command : endpointOf(settings)
    return {
      ...row(backend, [backend.key, wordsOf(target.name), transport, endpoint]),
      value: { backend: backend.key, ...target, origin: backend.origin },
    }
  })
}

function countRow(name: string, all: readonly unknown[], kinds: readonly string[]): ViewRow {
  const parts = [...countBy(kinds)].map(([kind, count]) => (count === 1 ? kind : `${kind} ×${count}`))
  const shown = parts.length > 8 ? [...parts.slice(0, 8), `and ${parts.length - 8} more`] : parts
  return {
    value: { name, count: all.length, kinds: Object.fromEntries(countBy(kinds)) },
    cells: [name, String(all.length), shown.join(' ')],
    origins: [],
  }
}

/** `POST /v1/* x-team=a` */
export function matchWords(match: DumpRoute['matches'][number]): string {
  const path = isFields(match.path) ? match.path : {}
  const words = [
    path.exact !== undefined
      ? wordsOf(path.exact)
      : path.regex !== undefined
        ? `~${wordsOf(Array.isArray(path.regex) ? path.regex[0] : path.regex)}`
        : `${wordsOf(path.pathPrefix ?? '/').replace(/\/$/, '')}/*`,
  ]
  const method = isFields(match.method) ? match.method.method : match.method
  if (typeof method === 'string') words.unshift(method)
  for (const [list, mark] of [
    [match.headers, ''],
    [match.query, '?'],
  ] as const) {
    for (const field of Array.isArray(list) ? list.filter(isFields) : []) {
      const value = isFields(field.value) ? (field.value.exact ?? `~${wordsOf(field.value.regex)}`) : field.value
      words.push(`${mark}${wordsOf(field.name)}=${wordsOf(value)}`)
    }
  }
  return words.join(' ')
}

/** An inline backend's name is only its position, which says nothing. */
function useWords(use: DumpRoute['backends'][number], route: DumpRoute, backend: DumpBackend | undefined): string {
  const inline = use.backend.startsWith(`/${route.key}/`)
  const endpoint = inline ? endpointOf(backend?.spec) : '-'
  const name =
    use.routeGroup !== undefined
      ? `group ${use.routeGroup}`
      : endpoint !== '-'
        ? endpoint
        : inline && backend !== undefined
          ? backend.kind
          : use.backend
  return route.backends.length > 1 || use.weight !== 1 ? `${name}(${use.weight})` : name
}

function namesOf(policies: DumpPolicies): string {
  return Object.keys(policies).join(' ') || '-'
}

/** An address anywhere in a backend's spec. */
function endpointOf(spec: unknown): string {
  if (typeof spec === 'string') return spec
  if (!isFields(spec)) return '-'
  const { host, port, hostname } = spec
  if (typeof host === 'string') return typeof port === 'number' ? `${host}:${port}` : host
  if (typeof hostname === 'string') return `${hostname}:${wordsOf(port)}`
  for (const name of ['service', 'host', 'backend']) if (name in spec) return endpointOf(spec[name])
  if (typeof spec.name === 'string' && 'port' in spec) return `${spec.name}:${wordsOf(port)}`
  return '-'
}

function nameOrKey(value: unknown): string {
  return isFields(value) ? (Object.keys(value)[0] ?? '-') : wordsOf(value)
}

function wordsOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '-'
}

function countBy(keys: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

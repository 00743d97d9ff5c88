import type { Path } from '../diagnostics/diagnostic.ts'
import { didYouMean } from '../diagnostics/suggest.ts'
import { type Compilation, sectionMisspelt, valueAt } from './compile-context.ts'
import type { BindSection, GatewaySection, ListenerSection, TlsSection } from './standalone/listener-section.ts'
import type { RouteSection, TcpRouteSection } from './standalone/route-section.ts'
import type { Standalone } from './standalone/standalone.ts'

/** A listener before compilation, whichever form of the file declares it. */
export interface ListenerPlan {
  readonly key: string
  readonly name: string
  readonly namespace: string
  readonly gateway: string
  readonly hostname: string
  readonly protocol: ListenerSection['protocol']
  readonly tls: TlsSection | undefined
  /** Policies by name; listeners of `gateways` have other fields beside them. */
  readonly policies: Readonly<Record<string, unknown>> | undefined
  readonly policiesPath: Path
  readonly path: Path
  readonly routes: RoutePlan[]
}
export type RoutePlan =
  | { readonly kind: 'route'; readonly spec: RouteSection; readonly position: number }
  | { readonly kind: 'tcp'; readonly spec: TcpRouteSection; readonly position: number }
  /** `prefixes`: the paths it is mounted under; `/` when it has the listener to itself. */
  | { readonly kind: 'mcp' | 'llm'; readonly prefixes: readonly string[] }
  /** Where users of the `mcp` section sign in at its targets: browsers have no credential of its policies. */
  | { readonly kind: 'sign-in'; readonly paths: readonly string[] }

export interface BindPlan {
  readonly port: number
  /** All addresses when undefined. */
  readonly address: string | undefined
  /** The port is UDP; TCP may use the same number. */
  readonly datagrams: boolean
  readonly path: Path
  /** Every connection begins with a PROXY header. */
  readonly proxied: boolean
  readonly listeners: ListenerPlan[]
}

/** Unique within a configuration. */
export function bindKey({ port, address, datagrams }: Pick<BindPlan, 'port' | 'address' | 'datagrams'>): string {
  const place = address === undefined ? port : `${address}/${port}`
  return datagrams ? `bind/${place}/udp` : `bind/${place}`
}

const MCP_PREFIXES = [
  '/mcp',
  '/sse',
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-authorization-server',
]

/** One plan per port, from `binds`, `gateways`, `llm` and `mcp`; a port that two of them claim is a finding. */
export function planListeners(config: Standalone, c: Compilation): BindPlan[] {
  const ports = new Ports(c)
  for (const bind of config.binds) planBind(bind, ports, c)
  const gateways = new Map<string, ListenerPlan[]>()
  for (const [name, gateway] of Object.entries(config.gateways))
    gateways.set(name, planGateway(name, gateway, ports, c))
  attachRoutes(config, gateways, c)
  for (const kind of ['llm', 'mcp'] as const) attachSection(kind, config, gateways, ports, c)
  return ports.plans
}

const LLM_PORT = 4000
const MCP_PORT = 3000

/** The ports that a configuration opens. */
export function portsOf({ binds, gateways, llm, mcp }: Standalone): ReadonlySet<number> {
  const written = [...binds, ...Object.values(gateways)].map(({ port }) => port)
  const sections = [llm && (llm.port ?? LLM_PORT), mcp && (mcp.port ?? MCP_PORT)]
  return new Set([...written, ...sections].filter(port => port !== undefined))
}

interface Place {
  readonly port: number
  readonly address?: string | undefined
  readonly protocol?: string | undefined
  readonly listeners?: readonly { readonly protocol?: string | undefined }[] | undefined
}

function takesDatagrams({ protocol, listeners }: Place): boolean {
  return listeners ? listeners.length > 0 && listeners.every(each => each.protocol === 'UDP') : protocol === 'UDP'
}

class Ports {
  readonly plans: BindPlan[] = []
  readonly #c: Compilation
  constructor(c: Compilation) {
    this.#c = c
  }
  /** Undefined if the port is taken, which is then reported. */
  claim(place: Place, path: Path, portPath: Path, proxied = false): BindPlan | undefined {
    const { port, address } = place
    const datagrams = takesDatagrams(place)
    const meets = (plan: BindPlan) =>
      plan.datagrams === datagrams && (!plan.address || !address || plan.address === address)
    const first = this.plans.find(plan => plan.port === port && port !== 0 && meets(plan))
    if (first) {
      this.#c.report({
        code: 'GW202',
        message: `port ${port} is used twice`,
        path: portPath,
        at: valueAt(this.#c.document.value, portPath) === undefined ? 'parent' : 'value',
        label: 'already in use',
        help: 'put the listeners of both under one port, or choose another port or `address`',
        related: [{ path: first.path, at: 'key', message: `port ${port} is opened here` }],
      })
      return undefined
    }
    const plan: BindPlan = { port, address, datagrams, path, proxied, listeners: [] }
    this.plans.push(plan)
    return plan
  }
}

function planBind(bind: BindSection, ports: Ports, c: Compilation): void {
  const path = c.paths.get(bind)!
  if (bind.mode === 'internal' || bind.port === undefined) {
    c.report({
      code: 'GW601',
      message: '`mode: internal` is valid but not served yet',
      path: [...path, 'mode'],
      at: 'value',
      label: 'gwctl run refuses to start with this',
      note: 'Listeners without a port are unreachable: client tunnels are not terminated.',
    })
    return
  }
  const plan = ports.claim(
    { port: bind.port, address: bind.address, listeners: bind.listeners },
    path,
    [...path, 'port'],
    bind.tunnelProtocol === 'proxy',
  )
  if (!plan) return
  if (bind.tunnelProtocol !== 'direct' && bind.tunnelProtocol !== 'proxy') {
    c.report({
      code: 'GW601',
      message: `\`tunnelProtocol: ${bind.tunnelProtocol}\` is valid but not served yet`,
      path: [...path, 'tunnelProtocol'],
      at: 'value',
      label: 'gwctl run refuses to start with this',
      note: 'Connections are accepted directly or with a PROXY header.',
    })
  }
  for (const listener of bind.listeners) {
    const at = c.paths.get(listener)!
    const name = listener.name ?? `listener${at.at(-1)}`
    plan.listeners.push({
      key: `default/default/${bindKey(plan)}/${name}`,
      name,
      namespace: listener.namespace ?? 'default',
      gateway: 'default',
      hostname: listener.hostname ?? '',
      protocol: listener.protocol,
      tls: listener.tls,
      policies: listener.policies as ListenerPlan['policies'],
      policiesPath: [...at, 'policies'],
      path: at,
      routes: [
        ...(listener.routes ?? []).map(spec => ({ kind: 'route', spec, position: positionOf(spec, c) }) as const),
        ...(listener.tcpRoutes ?? []).map(spec => ({ kind: 'tcp', spec, position: positionOf(spec, c) }) as const),
      ],
    })
  }
  checkHostnames(plan, c)
}

/** A route's index among its siblings in the file, counting those that were dropped. */
function positionOf(spec: object, c: Compilation): number {
  return Number(c.paths.get(spec)?.at(-1) ?? 0)
}

function checkHostnames(plan: BindPlan, c: Compilation): void {
  const seen = new Map<string, ListenerPlan>()
  for (const listener of plan.listeners) {
    const first = seen.get(listener.hostname)
    if (first) {
      const host = listener.hostname === '' ? 'every host' : `\`${listener.hostname}\``
      c.report({
        code: 'GW203',
        message: `two listeners of port ${plan.port} serve ${host}`,
        path: [...listener.path, 'hostname'],
        at: listener.hostname === '' ? 'parent' : 'value',
        label: 'never reached',
        related: [{ path: first.path, at: 'value', message: 'this one answers first' }],
      })
    } else seen.set(listener.hostname, listener)
  }
}

const BESIDE_LISTENERS: ReadonlySet<string> = new Set(['port', 'address', 'listeners'])

function planGateway(name: string, gateway: GatewaySection, ports: Ports, c: Compilation): ListenerPlan[] {
  const path = c.paths.get(gateway)!
  const plan = ports.claim(gateway, path, [...path, 'port'])
  if (!plan) return []
  if (gateway.listeners === undefined) {
    plan.listeners.push({
      key: `gateway/${name}`,
      name,
      namespace: 'default',
      gateway: name,
      hostname: '',
      protocol: gateway.protocol ?? (gateway.tls ? 'HTTPS' : 'HTTP'),
      tls: gateway.tls,
      policies: gateway as ListenerPlan['policies'],
      policiesPath: path,
      path,
      routes: [],
    })
    return plan.listeners
  }
  for (const key of Object.keys(gateway).filter(name => !BESIDE_LISTENERS.has(name))) {
    c.report({
      code: 'GW111',
      message: `\`${key}\` cannot be combined with \`listeners\``,
      path: [...path, key],
      at: 'key',
      label: 'move it into the listeners',
    })
  }
  for (const listener of gateway.listeners) {
    const at = c.paths.get(listener)!
    const listenerName = listener.name ?? `listener${at.at(-1)}`
    plan.listeners.push({
      key: `gateway/${name}/${listenerName}`,
      name: listenerName,
      namespace: 'default',
      gateway: name,
      hostname: listener.hostname === '*' ? '' : (listener.hostname ?? ''),
      protocol: listener.protocol ?? (listener.tls ? 'HTTPS' : 'HTTP'),
      tls: listener.tls,
      policies: listener as ListenerPlan['policies'],
      policiesPath: at,
      path: at,
      routes: [],
    })
  }
  checkHostnames(plan, c)
  return plan.listeners
}

function attachRoutes(config: Standalone, gateways: ReadonlyMap<string, ListenerPlan[]>, c: Compilation): void {
  for (const spec of config.routes) {
    const path = c.paths.get(spec)!
    const plan: RoutePlan = { kind: 'route', spec, position: positionOf(spec, c) }
    for (const listener of listenersFor(spec.gateways, path, gateways, c)) listener.routes.push(plan)
  }
  for (const spec of config.tcpRoutes) {
    const plan: RoutePlan = { kind: 'tcp', spec, position: positionOf(spec, c) }
    for (const listener of listenersFor(spec.gateways, c.paths.get(spec)!, gateways, c)) listener.routes.push(plan)
  }
}

function attachSection(
  kind: 'llm' | 'mcp',
  config: Standalone,
  gateways: ReadonlyMap<string, ListenerPlan[]>,
  ports: Ports,
  c: Compilation,
): void {
  const section = config[kind]
  if (!section) return
  const attaches =
    section.gateways !== undefined || (section.port === undefined && !hasTls(section) && gateways.has('default'))
  const paths = kind === 'mcp' ? signInPaths(config.mcp) : []
  const signIns = paths.length === 0 ? [] : [{ kind: 'sign-in', paths } as const]
  if (attaches) {
    const prefixes = kind === 'mcp' ? MCP_PREFIXES : ['/']
    for (const listener of listenersFor(section.gateways, [kind], gateways, c))
      listener.routes.push({ kind, prefixes }, ...signIns)
    return
  }
  const port = section.port ?? (kind === 'llm' ? LLM_PORT : MCP_PORT)
  const plan = ports.claim({ port }, [kind], [kind, 'port'])
  const tls = 'tls' in section ? (section.tls as TlsSection | undefined) : undefined
  plan?.listeners.push({
    key: `default/default/bind/${port}/${kind}`,
    name: kind,
    namespace: 'default',
    gateway: 'default',
    hostname: '',
    protocol: tls ? 'HTTPS' : 'HTTP',
    tls,
    policies: undefined,
    policiesPath: [kind],
    path: [kind],
    routes: [{ kind, prefixes: ['/'] }, ...signIns],
  })
}

function signInPaths(section: Standalone['mcp']): readonly string[] {
  return [...new Set(section?.targets.flatMap(({ signIn }) => signIn?.redirectURI.pathname ?? []))]
}

function hasTls(section: object): boolean {
  return 'tls' in section && section.tls !== undefined
}

function listenersFor(
  refs: readonly string[] | undefined,
  path: Path,
  gateways: ReadonlyMap<string, ListenerPlan[]>,
  c: Compilation,
): ListenerPlan[] {
  if (refs === undefined) {
    const implied = gateways.get('default')
    if (implied === undefined) reportNoGateway(path, gateways, c)
    return implied ?? []
  }
  return refs.flatMap(ref => {
    const slash = ref.indexOf('/')
    const gateway = gateways.get(slash < 0 ? ref : ref.slice(0, slash))
    const found = slash < 0 ? gateway : gateway?.filter(listener => listener.name === ref.slice(slash + 1))
    if (found && (found.length > 0 || slash < 0)) return found
    if (droppedGateway(ref, gateways, c)) return []
    // A gateway that was dropped for its own mistakes exists nevertheless.
    const written = namesIn(valueAt(c.document.value, ['gateways']))
    const known = [...written, ...[...gateways].flatMap(([name, all]) => all.map(l => `${name}/${l.name}`))]
    c.report({
      code: 'GW204',
      message: `no gateway is named \`${ref}\``,
      path: [...path, 'gateways'],
      at: 'value',
      label: 'not defined in `gateways`',
      ...helpWith(
        didYouMean(ref, known) ??
          (written.length > 0
            ? `gateways defined here: ${written.map(n => `\`${n}\``).join(', ')}`
            : 'add `gateways: {default: {port: 8080}}` at the top of the file'),
      ),
    })
    return []
  })
}

function namesIn(map: unknown): string[] {
  return typeof map === 'object' && map !== null && !Array.isArray(map) ? Object.keys(map) : []
}

function reportNoGateway(path: Path, gateways: ReadonlyMap<string, ListenerPlan[]>, c: Compilation): void {
  if (droppedGateway('default', gateways, c)) return
  c.report({
    code: 'GW204',
    message: 'no gateway serves this: it names none, and there is none named `default`',
    path,
    at: 'value',
    label: 'attached to nothing',
    ...helpWith(
      gateways.size > 0
        ? `set \`gateways: ${[...gateways.keys()][0]}\``
        : 'add `gateways: {default: {port: 8080}}` at the top of the file',
    ),
  })
}

/** Ports are declared in a form that was already reported. */
function elsewhere(root: unknown): boolean {
  const written = valueAt(root, ['gateways'])
  const others = ['listeners', 'port', 'http', 'servers', 'entryPoints']
  return written === undefined ? others.some(key => valueAt(root, [key]) !== undefined) : Array.isArray(written)
}

/** Whether the reference is to a gateway or listener that was dropped for its own findings, and so is not wrong. */
function droppedGateway(ref: string, gateways: ReadonlyMap<string, ListenerPlan[]>, c: Compilation): boolean {
  if (sectionMisspelt(c, 'gateways') || elsewhere(c.document.value)) return true
  const [name, listener] = ref.split('/') as [string, string?]
  const planned = gateways.get(name)
  const written = valueAt(c.document.value, ['gateways', name])
  if (planned === undefined || planned.length === 0) return written !== undefined
  return listener !== undefined && ((valueAt(written, ['listeners', 'length']) as number) ?? 0) > planned.length
}

function helpWith(help: string | undefined): { help?: string } {
  return help === undefined ? {} : { help }
}

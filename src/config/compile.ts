import { compileLlmSection } from '../backends/ai/index.ts'
import type { Backend } from '../backends/backend.ts'
import { mcpBackend } from '../backends/mcp/index.ts'
import type { Origin, Path } from '../diagnostics/diagnostic.ts'
import { frontendPolicies } from '../policies/index.ts'
import type { FrontendSettings, ProxyProtocolSettings } from '../policies/policy.ts'
import { assemble, responseSteps } from './assemble-pipeline.ts'
import { checkSignIns } from './check-sign-ins.ts'
import { BackendCompiler } from './compile-backends.ts'
import { type Compilation, valueAt, writtenPath } from './compile-context.ts'
import { PolicyCompiler, type PolicyLevel } from './compile-policies.ts'
import { compilePrices } from './compile-prices.ts'
import { RouteCompiler, type RouteParent } from './compile-routes.ts'
import { TcpRouteCompiler } from './compile-tcp-routes.ts'
import { compileTelemetry, foldTracing } from './compile-telemetry.ts'
import { compileTls } from './compile-tls.ts'
import { frontendSettings } from './frontend-settings.ts'
import { heldBodies } from './held-bodies.ts'
import { listenerNames } from './match-order.ts'
import { partPolicies } from './part-policies.ts'
import { type BindPlan, bindKey, type ListenerPlan, planListeners, portsOf, type RoutePlan } from './plan-listeners.ts'
import { Callees } from './references/callees.ts'
import { RouteKeys } from './references/route-keys.ts'
import { Services } from './references/services.ts'
import type { Settings } from './settings.ts'
import type { Bind, Listener, Pipeline, Route, Snapshot, Step, TcpRoute } from './snapshot.ts'
import { llmPolicyField, llmPolicySpecs } from './standalone/llm-section.ts'
import { type Standalone, standalone } from './standalone/standalone.ts'
import { targetReferences } from './target-references.ts'
import { TargetedLevels } from './targeted-policies.ts'
import { reportUnserved } from './unserved/listeners.ts'
import { reportUnservedSettings } from './unserved/process-settings.ts'

interface Compilers {
  readonly c: Compilation
  readonly config: Standalone
  readonly policies: PolicyCompiler
  readonly backends: BackendCompiler
  readonly routes: RouteCompiler
  readonly tcpRoutes: TcpRouteCompiler
  readonly targeted: TargetedLevels
  readonly keys: RouteKeys
}

/** Declared once for all ports. */
interface Frontend {
  readonly settings: FrontendSettings
  readonly connection: readonly Step[]
}

/** The effect of `tunnelProtocol: proxy` when `frontendPolicies` does not configure the PROXY protocol. */
const PROXIED: ProxyProtocolSettings = { v1: false, v2: true, optional: false }

/**
 * Compiles a decoded configuration into what the engine runs. Every command that needs more than the schema goes
 * through here. Mistakes become findings and the object concerned is dropped: whether to refuse to start is the
 * caller's choice.
 */
export async function compile(
  config: Standalone,
  file: string,
  settings: Settings,
  shared: Compilation,
): Promise<Snapshot> {
  const c: Compilation = { ...shared, callees: () => callees }
  const targeted = new TargetedLevels(c, config.policies)
  const policies = new PolicyCompiler(c)
  const services = new Services(c, config)
  const prices = compilePrices(config.config, c)
  const ports = portsOf(config)
  const backends = new BackendCompiler(c, policies, config.backends, targeted, services, settings, ports, prices)
  const callees = new Callees(c, backends)
  const keys = new RouteKeys()
  const routes = new RouteCompiler(c, policies, backends, targeted, keys, config.routeGroups)
  const all: Compilers = {
    c,
    config,
    policies,
    backends,
    routes,
    targeted,
    keys,
    tcpRoutes: new TcpRouteCompiler(c, backends, targeted, keys),
  }
  const steps = frontendSteps(all)
  const frontend: Frontend = {
    settings: frontendSettings(steps),
    connection: steps.filter(step => step.hooks.connection),
  }
  await c.pause?.()
  for (const { reference, path } of targetReferences(standalone, c.document.value)) backends.resolve(reference, path)
  await c.pause?.()
  const binds: Bind[] = []
  for (const plan of planListeners(config, c)) binds.push(await compileBind(plan, frontend, all))
  await c.pause?.()
  const idleGroups = routes.checkUnused()
  reportUnservedSettings(config.config, c)
  const telemetry = compileTelemetry(config, steps, c)
  const named = backends.compileNamed()
  const { credentials, redacted } = c
  return {
    file,
    settings,
    binds,
    bodies: heldBodies(frontend.settings, binds, named.values(), telemetry),
    telemetry,
    backends: named,
    idlePolicies: targeted.idle(),
    idleGroups,
    modelOrigins: modelsOf(c),
    credentials,
    redacted,
  }
}

function modelsOf(c: Compilation): Origin[] {
  return ['models', 'virtualModels'].flatMap(name => {
    const list = valueAt(c.redacted, ['llm', name])
    return Array.isArray(list) ? list.map((_, i) => c.document.origin(['llm', name, i])) : []
  })
}

/** Connection policies are declared once for all ports. */
function frontendSteps({ config, policies, c }: Compilers): Step[] {
  const levels: PolicyLevel[] = []
  const add = (specs: PolicyLevel['specs'], path: string) =>
    levels.push({ specs, path: [path], on: 'connection', identity: 'frontend' })
  const tracing = foldTracing(config.config, c)
  if (tracing) add({ tracing }, 'config')
  if (config.frontendPolicies) add(config.frontendPolicies as PolicyLevel['specs'], 'frontendPolicies')
  return policies.steps(levels, 'request', frontendPolicies)
}

async function compileBind(plan: BindPlan, { settings, connection }: Frontend, all: Compilers): Promise<Bind> {
  const listeners: Listener[] = []
  for (const listener of plan.listeners) listeners.push(await compileListener(listener, plan.port, settings, all))
  const protocols = plan.listeners.map(listener => listener.protocol)
  return {
    key: bindKey(plan),
    port: plan.port,
    ...(plan.address === undefined ? {} : { address: plan.address }),
    protocol: plan.datagrams ? 'udp' : startOf(protocols),
    // The PROXY protocol can be enabled for one port or for all of them.
    frontend: plan.proxied ? { ...settings, proxyProtocol: settings.proxyProtocol ?? PROXIED } : settings,
    connection,
    origin: all.c.document.origin(plan.path),
    listeners,
    listenerFor: listenerNames(listeners),
  }
}

function startOf(protocols: readonly string[]): 'http' | 'tls' | 'tcp' {
  if (protocols.some(p => p === 'HTTPS' || p === 'TLS')) return 'tls'
  return protocols.includes('TCP') ? 'tcp' : 'http'
}

async function compileListener(
  plan: ListenerPlan,
  port: number,
  frontend: FrontendSettings,
  all: Compilers,
): Promise<Listener> {
  const parent: RouteParent = { listenerKey: plan.key, gateway: plan.gateway, listenerName: plan.name, port }
  const levels: PolicyLevel[] = all.targeted.forListener(parent)
  if (plan.policies)
    levels.push({ specs: plan.policies, path: plan.policiesPath, on: 'listener', identity: `listener:${plan.key}` })
  reportUnserved(plan, all.c)
  const tls = plan.tls && compileTls(plan.tls, plan.protocol, frontend, all.c)
  const pipeline = assemble(all.policies.steps(levels, 'request'))
  const routes: Route[] = []
  const tcpRoutes: TcpRoute[] = []
  for (const route of plan.routes) {
    if (route.kind === 'tcp') tcpRoutes.push(all.tcpRoutes.compile(route.spec, route.position, parent, plan.protocol))
    else routes.push(...[compileRoute(route, parent, all)].filter(made => made !== undefined))
    const rest = all.c.pause?.()
    if (rest) await rest
  }
  const listener: Listener = {
    key: plan.key,
    name: plan.name,
    namespace: plan.namespace,
    gateway: plan.gateway,
    origin: all.c.document.origin(plan.path),
    hostname: plan.hostname,
    protocol: plan.protocol,
    ...(tls ? { tls } : {}),
    ...(plan.tls ? { tlsSpec: valueAt(all.c.redacted, [...plan.path, 'tls']) } : {}),
    passthrough: plan.protocol === 'TLS' && plan.tls === undefined,
    pipeline,
    routes,
    tcpRoutes,
  }
  checkSignIns(listener, plan.routes, all.c)
  return listener
}

function compileRoute(
  plan: Exclude<RoutePlan, { kind: 'tcp' }>,
  parent: RouteParent,
  all: Compilers,
): Route | undefined {
  if (plan.kind === 'route') return all.routes.compile(plan.spec, plan.position, parent)
  if (plan.kind === 'sign-in') return compileSignInRoute(plan.paths, parent, all)
  return compileSectionRoute(plan.kind, plan.prefixes, parent, all)
}

/** The route that serves a whole `llm` or `mcp` section. */
function compileSectionRoute(
  kind: 'llm' | 'mcp',
  prefixes: readonly string[],
  parent: RouteParent,
  all: Compilers,
): Route | undefined {
  const section = all.config[kind]
  if (!section) return undefined
  const path: Path = [kind]
  const name = kind === 'mcp' ? 'default' : 'llm:request'
  const levels = all.routes.levels(
    parent,
    { name, namespace: 'internal', ruleName: undefined, kind: 'http' as const },
    section.policies,
    path,
  )
  const atBackend: Pipeline = assemble(all.policies.steps(levels, 'backend'), true)
  const matches = prefixes.map(pathPrefix => ({ path: { pathPrefix }, headers: [], query: [] }))
  return sectionRoute({ kind, name, matches, levels, atBackend }, parent, all)
}

/** The pages on which users of the `mcp` section sign in at its targets. */
function compileSignInRoute(paths: readonly string[], parent: RouteParent, all: Compilers): Route {
  const matches = paths.map(exact => ({ path: { exact }, headers: [], query: [] }))
  const route = { name: 'sign-in', namespace: 'internal', ruleName: undefined, kind: 'http' } as const
  // Policies that target the gateway or listener apply, those of the section do not.
  const levels = all.routes.levels(parent, route, undefined, ['mcp'])
  return sectionRoute({ kind: 'mcp', name: route.name, matches, levels, atBackend: assemble([], true) }, parent, all)
}

interface SectionRoute {
  readonly kind: 'llm' | 'mcp'
  readonly name: string
  readonly matches: Route['matches']
  readonly levels: readonly PolicyLevel[]
  readonly atBackend: Pipeline
}

function sectionRoute(
  { kind, name, matches, levels, atBackend }: SectionRoute,
  parent: RouteParent,
  all: Compilers,
): Route {
  const path: Path = [kind]
  const pipeline = assemble(all.policies.steps(levels, 'request'))
  const origin = all.c.document.origin(path)
  return {
    key: all.keys.keyOf(parent.listenerKey, 'internal', name),
    name,
    namespace: 'internal',
    ruleName: undefined,
    origin,
    hostnames: [],
    matches,
    shownMatches: [],
    pipeline,
    backends: [
      {
        weight: 1,
        backend: compileSection(kind, atBackend, all),
        pipeline: atBackend,
        ...responseSteps(pipeline, atBackend),
        spec: valueAt(all.c.redacted, path),
        origin,
      },
    ],
    totalWeight: 1,
  }
}

function compileSection(kind: 'llm' | 'mcp', pipeline: Pipeline, all: Compilers): Backend {
  const key = kind === 'mcp' ? 'mcp' : 'llm:router'
  const ctx = all.backends.contextOf(all.config[kind], [kind], key, key, pipeline.upstream, [])
  if (kind === 'mcp') return mcpBackend.compile(all.config.mcp!, ctx)
  const section = all.config.llm!
  const specsAt = (path: Path) => llmPolicySpecs(section, path)
  return compileLlmSection(section, {
    ...ctx,
    policiesAt: partPolicies(
      all.c,
      all.policies,
      path => writtenPath(all.c, section, [kind], path),
      key,
      specsAt,
      () => [],
      { fieldOf: llmPolicyField },
    ),
  })
}

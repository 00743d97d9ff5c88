import { compileLlmSection } from '../backends/ai/index.ts'
import type { Backend } from '../backends/backend.ts'
import { mcpBackend } from '../backends/mcp/index.ts'
import type { Path } from '../diagnostics/diagnostic.ts'
import { frontendPolicies } from '../policies/index.ts'
import { BackendCompiler } from './compile-backends.ts'
import { type Compilation, readReferenced, valueAt } from './compile-context.ts'
import { PolicyCompiler, type PolicyLevel } from './compile-policies.ts'
import { RouteCompiler, type RouteParent } from './compile-routes.ts'
import { partPolicies } from './part-policies.ts'
import { assemble, responseSteps } from './pipeline.ts'
import { type BindPlan, type ListenerPlan, planListeners, type RoutePlan } from './plan-listeners.ts'
import type { Settings } from './settings.ts'
import type { Bind, Listener, Pipeline, Route, Snapshot, Step, TlsFiles } from './snapshot.ts'
import type { TlsSection } from './standalone/listener-section.ts'
import { llmPolicyField, llmPolicySpecs } from './standalone/llm-section.ts'
import type { Standalone } from './standalone/standalone.ts'
import { TargetedLevels } from './targeted-policies.ts'

interface Compilers {
  readonly c: Compilation
  readonly config: Standalone
  readonly policies: PolicyCompiler
  readonly backends: BackendCompiler
  readonly routes: RouteCompiler
  readonly targeted: TargetedLevels
}

/**
 * Turns a decoded configuration into what the engine runs. Every command that needs more than the schema goes through
 * here. What is wrong becomes findings, and the object concerned is left out: refusing to start is the caller's choice.
 */
export function compile(config: Standalone, file: string, settings: Settings, c: Compilation): Snapshot {
  const targeted = new TargetedLevels(c, config.policies)
  const policies = new PolicyCompiler(c)
  const backends = new BackendCompiler(
    c,
    policies,
    config.backends,
    reference => targeted.forBackend(reference),
    settings,
  )
  const routes = new RouteCompiler(c, policies, backends, targeted)
  const all: Compilers = { c, config, policies, backends, routes, targeted }
  const connection = frontendSteps(all)
  const binds = planListeners(config, c).map(plan => compileBind(plan, connection, all))
  return { file, settings, binds, backends: backends.compileNamed(), redacted: c.redacted }
}

/** Policies over connections are written once for all ports. */
function frontendSteps({ config, policies }: Compilers): Step[] {
  if (!config.frontendPolicies) return []
  const level = {
    specs: config.frontendPolicies as Readonly<Record<string, unknown>>,
    path: ['frontendPolicies'],
    identity: 'frontend',
  }
  return policies.steps([level], 'request', frontendPolicies)
}

function compileBind(plan: BindPlan, connection: readonly Step[], all: Compilers): Bind {
  return {
    key: `bind/${plan.port}`,
    port: plan.port,
    connection: connection.filter(step => step.hooks.connection),
    origin: all.c.document.origin(plan.path),
    listeners: plan.listeners.map(listener => compileListener(listener, plan.port, all)),
  }
}

function compileListener(plan: ListenerPlan, port: number, all: Compilers): Listener {
  const parent: RouteParent = { listenerKey: plan.key, gateway: plan.gateway, listenerName: plan.name, port }
  const levels: PolicyLevel[] = all.targeted.forListener(parent)
  if (plan.policies) levels.push({ specs: plan.policies, path: plan.policiesPath, identity: `listener:${plan.key}` })
  const tls = plan.tls && readTls(plan.tls, all.c)
  return {
    key: plan.key,
    name: plan.name,
    namespace: plan.namespace,
    gateway: plan.gateway,
    origin: all.c.document.origin(plan.path),
    hostname: plan.hostname,
    protocol: plan.protocol,
    ...(tls ? { tls } : {}),
    pipeline: assemble(all.policies.steps(levels, 'request')),
    routes: plan.routes.flatMap(route => compileRoute(route, parent, all) ?? []),
  }
}

function compileRoute(plan: RoutePlan, parent: RouteParent, all: Compilers): Route | undefined {
  if (plan.kind === 'route') return all.routes.compile(plan.spec, plan.position, parent)
  return compileSectionRoute(plan.kind, plan.prefixes, parent, all)
}

/** The route that stands for a whole `llm` or `mcp` section. */
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
  const levels = all.routes.levels(parent, { name, namespace: 'internal', ruleName: undefined }, section.policies, path)
  const atBackend: Pipeline = assemble(all.policies.steps(levels, 'backend'), true)
  const backend = compileSection(kind, atBackend, all)
  const pipeline = assemble(all.policies.steps(levels, 'request'))
  const origin = all.c.document.origin(path)
  return {
    key: `${parent.listenerKey}/internal/${name}`,
    name,
    namespace: 'internal',
    ruleName: undefined,
    origin,
    hostnames: [],
    matches: prefixes.map(pathPrefix => ({ path: { pathPrefix }, headers: [], query: [] })),
    pipeline,
    backends: [
      {
        weight: 1,
        backend,
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
  const ctx = all.backends.contextOf(all.config[kind], [kind], key, key, pipeline.upstream)
  if (kind === 'mcp') return mcpBackend.compile(all.config.mcp!, ctx)
  const section = all.config.llm!
  const specsAt = (path: Path) => llmPolicySpecs(section, path)
  return compileLlmSection(section, {
    ...ctx,
    policiesAt: partPolicies(all.policies, [kind], key, specsAt, llmPolicyField),
  })
}

const VERSIONS = { TLS_V1_0: 'TLSv1.2', TLS_V1_1: 'TLSv1.2', TLS_V1_2: 'TLSv1.2', TLS_V1_3: 'TLSv1.3' } as const

function readTls(tls: TlsSection, c: Compilation): TlsFiles | undefined {
  const path = c.paths.get(tls) ?? []
  const cert = tls.cert === undefined ? undefined : readReferenced(c, tls.cert, [...path, 'cert'])
  const key = tls.key === undefined ? undefined : readReferenced(c, tls.key, [...path, 'key'])
  const ca = tls.root === undefined ? undefined : readReferenced(c, tls.root, [...path, 'root'])
  if (!cert || !key) return undefined
  return {
    cert,
    key,
    ...(ca ? { ca } : {}),
    ...(tls.minTLSVersion ? { minVersion: VERSIONS[tls.minTLSVersion] } : {}),
    ...(tls.maxTLSVersion ? { maxVersion: VERSIONS[tls.maxTLSVersion] } : {}),
  }
}

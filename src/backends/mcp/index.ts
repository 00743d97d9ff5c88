import { PRIMARY } from '../../calls/call-record.ts'
import { NO_STEPS } from '../../calls/step.ts'
import type { Target } from '../../http/transport.ts'
import { readToolLock, type ToolLock } from '../../mcp/tool-lock.ts'
import type { Serving } from '../../policies/policy.ts'
import { HELD_CALL, ownId } from '../../runtime/session-owner.ts'
import type { PartPolicies } from '../backend.ts'
import { type BackendContext, defineBackend } from '../backend.ts'
import { connectionKey, connectionOf } from '../http-target.ts'
import { isRemote, openApiTools } from './openapi/openapi-tools.ts'
import { endpointUrl, type McpBackendSpec, type McpTargetSpec, mcpBackendSchema, type OpenApiSpec } from './schema.ts'
import type * as ServingParts from './serving.ts'
import type { McpSetup } from './setup.ts'
import { SignIns } from './sign-in/sign-ins.ts'
import { TargetMetadata } from './sign-in/target-metadata.ts'
import type { McpTarget } from './targets.ts'
import { callsTo, type HttpTarget } from './upstream-call.ts'

const DEFAULT_TTL = 30 * 60_000
/** Programs of stdio targets, for requests without a session. */
const MAX_PROGRAMS = 100

/** MCP servers behind one endpoint (spec "MCP backend"). */
export const mcpBackend = defineBackend({
  kind: 'mcp',
  doc: 'MCP servers, as one MCP server.',
  spec: 'MCP backend',
  schema: mcpBackendSchema,
  compile(spec, ctx) {
    const connections: Connections = ctx.serving(load, parts => parts)
    const signIns = new SignIns(ctx)
    const setup = setupOf(spec, connections, signIns, ctx)
    const lock = lockOf(spec, ctx)
    const endpoint = ctx.serving(load, parts => {
      const toolGuard = lock && new parts.ToolGuard(lock, ctx.runtime)
      return endpointOf(parts, { ...setup, toolGuard, signIns: signIns.pages(parts) }, ctx)
    })
    return {
      key: ctx.key,
      name: ctx.name,
      kind: 'mcp',
      protocol: 'mcp',
      origin: ctx.origin,
      // A call may have run a tool before it failed.
      replayable: false,
      holdsRequest: ctx.limits.maxBuffer,
      ...(signIns.paths.length === 0 ? {} : { signInPaths: signIns.paths }),
      send: (x, _attempt, on) => endpoint.part.serve(x, on),
      ...(spec.toolLock === undefined
        ? {}
        : { toolLock: { file: spec.toolLock, read: () => connections.part.lockTools(setup) } }),
    }
  },
})

const load = () => import('./serving.ts')

type Connections = Serving<typeof ServingParts>

function endpointOf(
  { McpEndpoint, SessionStore, SharedTargets }: typeof ServingParts,
  setup: McpSetup,
  ctx: BackendContext,
) {
  const { clock, worker } = setup.runtime
  const store = ctx.movingState(
    'sessions',
    () => new SessionStore(setup.backend, clock, setup.sessionTtl, maxSessions(setup)),
  )
  const programs = Math.ceil(MAX_PROGRAMS / worker.count)
  const newState = () => ownId(worker, () => HELD_CALL + setup.runtime.uuid())
  const shared = ctx.movingState('shared', () => new SharedTargets(clock, newState, setup.sessionTtl, programs))
  return new McpEndpoint(setup, store, shared)
}

/** Clients must not exhaust memory with sessions, nor the machine with processes. */
function maxSessions({ targets, runtime }: McpSetup): number {
  const all = targets.some(target => target.kind === 'stdio') ? 1000 : 10_000
  return Math.ceil(all / runtime.worker.count)
}

function setupOf(
  spec: McpBackendSpec,
  connections: Connections,
  signIns: SignIns,
  ctx: BackendContext,
): Omit<McpSetup, 'toolGuard' | 'signIns'> {
  const targets = spec.targets.flatMap((target, i) => targetOf(target, i, connections, signIns, ctx))
  const multiple = spec.targets.length > 1
  const http = multiple ? undefined : targets[0]?.http
  return {
    runtime: ctx.runtime,
    backend: ctx.key,
    targets,
    metadata: http && !targets[0]?.users ? new TargetMetadata(http, ctx.runtime) : undefined,
    multiple,
    naming: {
      names: spec.prefixMode === 'always' || (spec.prefixMode === 'conditional' && multiple),
      // "Resource URIs always keep target routing information" (spec, `prefixMode`) if there are several targets.
      uris: multiple,
    },
    lookUp: multiple && spec.prefixMode === 'never',
    stateful: spec.statefulMode === 'stateful',
    failOpen: spec.failureMode === 'failOpen',
    maxBody: ctx.limits.maxBuffer,
    localOnly: spec.dnsRebindingProtection,
    sessionKey: ctx.sessions?.key,
    sessionTtl: ctx.sessions?.ttl ?? DEFAULT_TTL,
  }
}

/** An unreadable lock is a finding: without it, tools would be unrestricted. */
function lockOf({ toolLock }: McpBackendSpec, ctx: BackendContext): ToolLock | undefined {
  const text = toolLock === undefined ? undefined : ctx.readFile(toolLock, ['toolLock'])?.toString('utf8')
  if (text === undefined) return undefined
  const lock = readToolLock(text)
  if (!('problem' in lock)) return lock
  const help = 'write it with `gwctl mcp lock -f FILE`'
  ctx.report({ code: 'GW207', message: `no tool lock: ${lock.problem}`, path: ['toolLock'], at: 'value', help })
  return undefined
}

function targetOf(
  spec: McpTargetSpec,
  i: number,
  connections: Connections,
  signIns: SignIns,
  ctx: BackendContext,
): McpTarget[] {
  const { name, stdio } = spec
  const { runtime } = ctx
  if (stdio) {
    if (runtime.standIns) return [standIn(spec, connections, ctx)]
    const program = { cmd: stdio.cmd, args: stdio.args, env: stdio.env, clearEnv: stdio.clear_env }
    const log = runtime.log.child('mcp::stdio')
    return [
      {
        name,
        kind: 'stdio',
        shareable: true,
        connect: onDown =>
          new connections.part.StdioConnection(program, { target: name, clock: runtime.clock, log, onDown }),
      },
    ]
  }
  if (spec.openapi) return apiTarget(spec, spec.openapi, i, connections, ctx)
  const kind = spec.sse ? 'sse' : 'mcp'
  const reached = httpTarget(spec, kind, i, ctx)
  if (!reached) return []
  const { target, users } = signIns.at(spec, i, reached)
  return kind === 'sse' && !runtime.standIns
    ? [
        {
          name,
          kind,
          shareable: false,
          http: target,
          connect: onDown => new connections.part.SseConnection(runtime, target, onDown),
        },
      ]
    : [
        {
          name,
          kind,
          shareable: false,
          http: target,
          ...(users ? { users } : {}),
          connect: (_onDown, session) => new connections.part.HttpConnection(runtime, target, session),
        },
      ]
}

/** An API whose operations are tools. */
function apiTarget(
  spec: McpTargetSpec,
  openapi: OpenApiSpec,
  i: number,
  connections: Connections,
  ctx: BackendContext,
): McpTarget[] {
  const { name } = spec
  const { runtime, limits } = ctx
  // Nothing is fetched in dry runs: the stand-ins define the tools.
  if (runtime.standIns && isRemote(openapi)) return [standIn(spec, connections, ctx)]
  const target = httpTarget(spec, 'openapi', i, ctx)
  const tools = openApiTools(openapi, ['targets', i, 'openapi'], ctx)
  if (!target || !tools) return []
  const connect = () => new connections.part.OpenApiConnection(runtime, target, tools, limits.maxBuffer)
  return [{ name, kind: 'openapi', shareable: false, connect }]
}

/** A server that is not called: a stand-in answers under its name. */
function standIn({ name }: McpTargetSpec, connections: Connections, ctx: BackendContext): McpTarget {
  const place: Target = {
    key: `${ctx.key}/${name}`,
    host: name,
    port: 0,
    connectTimeout: 0,
    named: true,
    part: { kind: 'mcp', names: [name] },
  }
  const target: HttpTarget = { name, path: '/mcp', timeout: undefined, steps: NO_STEPS, ...callsTo(place, ctx.runtime) }
  return {
    name,
    kind: 'stdio',
    shareable: false,
    connect: (_onDown, session) => new connections.part.HttpConnection(ctx.runtime, target, session),
  }
}

/** Undefined for a transport that this engine does not serve. */
function httpTarget(
  spec: McpTargetSpec,
  kind: 'mcp' | 'sse' | 'openapi',
  i: number,
  ctx: BackendContext,
): HttpTarget | undefined {
  const endpoint = spec[kind]
  if (endpoint?.backend !== undefined)
    return namedTarget(spec.name, endpoint.backend, endpoint.path ?? `/${kind}`, [i, kind], ctx)
  const url = endpoint?.host === undefined ? undefined : endpointUrl(endpoint.host)
  if (!endpoint || !url) return undefined
  const policies = policiesOf(spec, i, ctx)
  const settings = { ...ctx.settings, ...policies.settings }
  const tls = settings.tls ?? (url.protocol === 'https:' ? {} : undefined)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = endpoint.port ?? (Number(url.port) || (tls ? 443 : 80))
  const connection = tls === undefined ? settings : { ...settings, tls }
  const place: Target = {
    key: `${ctx.key}/${spec.name}#${connectionKey(connection)}`,
    host,
    port,
    named: !/^[\d.]+$|:/.test(host),
    part: { kind: kind === 'openapi' ? 'api' : 'mcp', names: [spec.name] },
    ...connectionOf(connection),
  }
  const given = `${url.pathname === '/' ? '' : url.pathname}${url.search}`
  return {
    name: spec.name,
    path: endpoint.path ?? (given === '' ? `/${kind}` : given),
    ...callsTo(place, ctx.runtime, kind === 'openapi' ? PRIMARY.Http : PRIMARY.Mcp),
    timeout: settings.requestTimeout,
    authenticated: settings.authenticated === true || settings.sign !== undefined,
    steps: policies.steps,
  }
}

/** Uses the backend's address, TLS, credentials and policies. Undefined after a finding. */
function namedTarget(
  name: string,
  backend: string,
  path: string,
  at: readonly (string | number)[],
  ctx: BackendContext,
): HttpTarget | undefined {
  const callee = ctx.callee?.({ backend }, ['targets', ...at])
  if (!callee) return undefined
  const { steps, requestTimeout, send } = callee
  return { name, path, steps, timeout: requestTimeout, target: () => callee.target(), send }
}

const NONE: PartPolicies = { settings: {}, steps: NO_STEPS }

function policiesOf(spec: McpTargetSpec, i: number, ctx: BackendContext): PartPolicies {
  const path = ['targets', i, 'policies']
  const policies = ctx.policiesAt(path, spec.name) ?? NONE
  if (policies.steps.response.length > 0) {
    ctx.report({
      code: 'GW601',
      message: 'transformations of replies are not served on an MCP target',
      path: [...path, 'transformations'],
      at: 'key',
      label: 'gwctl run refuses to start with this',
      help: 'transform requests to it, or the replies of the whole route',
    })
  }
  return policies
}

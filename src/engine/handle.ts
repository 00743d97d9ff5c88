import { flushChunks, passChunk, responseBodyHooks, runRequest, runResponse } from '../calls/run-policies.ts'
import type { Bind, Listener, Pipeline, RouteGroup, Step } from '../config/snapshot.ts'
import type { Origin } from '../diagnostics/diagnostic.ts'
import { parseAuthority } from '../http/authority.ts'
import { GatewayError } from '../http/errors.ts'
import type { Admission, Exchange, PolicyPlace, Reply } from '../http/exchange.ts'
import { applyChange } from '../http/field-change.ts'
import { keepCookiesHere } from '../policies/parts/oidc/cookies.ts'
import { readBody } from '../policies/parts/request-body.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { callBackend, pickForSession } from './call-backend.ts'
import type { Downstream } from './downstream.ts'
import type { Passage, Serving } from './passage.ts'
import { headOf, mergeQueued, replyFor, replyInDialect } from './respond.ts'
import { coverage, hostOf, type Matched, selectByServerName } from './route-table.ts'
import {
  traceArrival,
  traceDeadline,
  traceFinalResponse,
  traceListener,
  tracePath,
  tracePolicies,
  traceRoute,
} from './trace/stages.ts'

/**
 * The request pipeline, top to bottom: listener and its policies, route and its policies, backend, response. Never
 * throws: any failure below ends in one reply. It awaits only actual promises, since each `await` costs a microtask
 * turn.
 */
export async function handle(
  x: Exchange,
  bind: Bind,
  serving: Serving,
  out: Downstream,
  passage: Passage,
  runtime: Runtime,
): Promise<void> {
  try {
    const reply = await serve(x, bind, serving, out, passage, runtime)
    if (reply) await answer(x, reply, passage, out)
  } catch (error) {
    await answerFailure(x, error, passage, out, runtime)
  }
}

async function serve(
  x: Exchange,
  bind: Bind,
  serving: Serving,
  out: Downstream,
  passage: Passage,
  runtime: Runtime,
): Promise<Reply | undefined> {
  x.bind = bind
  passage.heads = serving.heads
  if (x.connection.admission) admit(x, x.connection.admission)
  if (x.trace) traceArrival(x, serving.heads)
  const listener = findListener(x, bind)
  const elsewhere = normalizePath(x, bind.frontend, serving)
  if (elsewhere) return elsewhere
  passage.listener = listener.pipeline
  const connects = x.request.method === 'CONNECT'
  if (connects) beginTunnel(x, bind)
  let early = runRequest(listener.pipeline.request, 'gateway', x)
  if (early instanceof Promise) early = await early
  if (early) return early
  // A CONNECT's authority is its destination; the client chose this listener as its proxy.
  if (x.connection.tls && !connects) checkCoverage(x, bind, listener)

  const { pipeline, chosen } = findRoute(x, listener, serving, runtime)
  passage.route = pipeline
  let refused = runRequest(pipeline.request, 'route', x, 0, pipeline.deadlineFrom)
  if (refused instanceof Promise) refused = await refused
  if (refused) return refused
  startDeadline(x, passage, out, runtime)
  let local = runRequest(pipeline.request, 'route', x, pipeline.deadlineFrom)
  if (local instanceof Promise) local = await local
  if (local || x.aborted) return local
  keepCookiesHere(x.request.headers)

  if (!chosen) throw new GatewayError('noBackend')
  passage.backend = chosen
  const { buffersRequest } = chosen.pipeline
  if (buffersRequest > 0) await readBody(x, buffersRequest)
  return await callBackend({ x, chosen, passage, out, heads: serving.heads, runtime })
}

/** Applies the admitting service's changes and metadata to each request, overriding the client's. */
function admit(x: Exchange, { changes, metadata }: Admission): void {
  for (const change of changes) applyChange(x.request.headers, change)
  if (metadata) x.external.extauthz = metadata
}

/**
 * From here on routes, rules and the backend see one path. Returns a reply if the client is redirected to that path.
 */
function normalizePath(x: Exchange, { paths }: Bind['frontend'], { heads }: Serving): Reply | undefined {
  const { path, scheme, authority } = x.request
  const normal = paths.normalize(path)
  if (normal === path) return undefined
  if (!paths.redirects(path)) {
    x.request.path = normal
    if (x.trace) tracePath(x, heads)
    return undefined
  }
  // Absolute, since a path may begin with two slashes.
  const location = `${scheme}://${authority}${normal}`
  return { status: 307, headers: ['location', location], body: undefined, reason: 'DirectResponse' }
}

/** Only the authority of a CONNECT is meaningful: routes match it as a request for `/`. */
function beginTunnel(x: Exchange, bind: Bind): void {
  if (!bind.frontend.tunnels) throw new GatewayError('methodNotAllowed')
  if (parseAuthority(x.request.authority)?.port === undefined) throw new GatewayError('invalidRequest')
  x.request.path = '/'
}

function findListener(x: Exchange, bind: Bind): Listener {
  // With TLS the server name has selected the listener: the certificate that the client verified is that listener's.
  const listener = x.connection.tls
    ? selectByServerName(bind, x.connection.tls.sni)
    : bind.listenerFor(hostOf(x.request.authority))
  if (x.trace) traceListener(x, bind, listener)
  if (!listener) throw new GatewayError('listenerNotFound')
  x.listener = listener
  return listener
}

/** A connection may carry requests for other hosts; those that another listener serves better are misdirected. */
function checkCoverage(x: Exchange, bind: Bind, listener: Listener): void {
  const covered = coverage(bind, listener, hostOf(x.request.authority))
  if (covered === 'misdirected') throw new GatewayError('misdirected')
  if (covered === 'uncovered') throw new GatewayError('routeNotFound')
}

/** The listener's route, or the one that its route groups lead to. */
function findRoute(x: Exchange, listener: Listener, serving: Serving, runtime: Runtime) {
  let found = matchRoute(x, listener, listener.origin, serving)
  let chosen = pickForSession(found.route, x, runtime)
  while (chosen?.delegates) {
    found = matchRoute(x, chosen.delegates, found.route.origin, serving)
    chosen = pickForSession(found.route, x, runtime)
  }
  const { route, match } = found
  x.route = route
  x.matchedPrefix = match.path.pathPrefix
  x.matchedPath = match.path
  if (chosen) x.backend = chosen.backend
  if (x.trace) tracePolicies(x, found)
  return { pipeline: route.pipeline, chosen }
}

function matchRoute(x: Exchange, holder: Listener | RouteGroup, origin: Origin, serving: Serving): Matched {
  const table = serving.tables.get(holder)!
  const host = hostOf(x.request.authority)
  const matched = table.find(x.request, host)
  if (x.trace) traceRoute(x, table, host, matched, origin)
  if (!matched) throw new GatewayError('routeNotFound')
  return matched
}

function startDeadline(x: Exchange, passage: Passage, out: Downstream, runtime: Runtime): void {
  const limit = passage.route?.timeout.request
  if (limit === undefined) return
  x.timeLimit = limit
  passage.deadline = runtime.clock.after(limit, () => {
    // A response that has begun may take longer.
    if (out.state !== 'waiting') return
    if (x.trace && passage.route) traceDeadline(x, passage.route, limit)
    const { status, message } = new GatewayError('requestTimeout')
    const body = x.errorBody?.(status, message)
    void answerFailure(x, new GatewayError('requestTimeout', body ? { body } : {}), passage, out, runtime)
    x.abort()
  })
}

/** Never rejects. */
export async function answerFailure(
  x: Exchange,
  error: unknown,
  passage: Passage,
  out: Downstream,
  runtime: Runtime,
): Promise<void> {
  if (!(error instanceof GatewayError)) {
    runtime.log.log('error', 'internal error', {
      request: x.id,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    })
  }
  try {
    await answer(x, replyFor(error), passage, out)
  } catch (second) {
    runtime.log.log('error', 'a response policy failed while sending an error response', {
      request: x.id,
      error: second instanceof Error ? second.message : String(second),
    })
    out.cut()
  }
}

/** Sends a locally generated reply, through the response policies reached so far. */
async function answer(x: Exchange, reply: Reply, passage: Passage, out: Downstream): Promise<void> {
  if (out.state === 'ended') return
  x.reason = reply.reason
  x.error ??= reply.error
  if (out.state === 'streaming') {
    out.cut()
    return
  }
  const spoken = replyInDialect(reply, x)
  x.response = headOf(spoken)
  const steps = reachedSteps(x, passage)
  const done = runResponse(steps.response, x)
  if (done) {
    await done
    // Meanwhile the client may have disconnected, or the deadline expired.
    if (out.state !== 'waiting') return
  }
  mergeQueued(x.response.headers, x)
  const body = transformed(spoken.body, steps.body, x)
  if (x.trace && passage.heads) traceFinalResponse(x, x.response, passage.heads)
  out.reply(x.response.status, x.response.headers.raw, body)
}

function reachedSteps(x: Exchange, passage: Passage): { response: Step[]; body: Step[] } {
  const { listener, route, backend } = passage
  const response = backend ? backend.response : (route?.response ?? [])
  const body = backend ? backend.responseBody : (route?.responseBody ?? [])
  const listenerSteps = listener?.response ?? []
  return {
    response: [...response, ...listenerSteps].filter(step => wasReached(x, step, listener, route, backend?.pipeline)),
    body: [...body, ...(listener?.responseBody ?? [])].filter(step =>
      wasReached(x, step, listener, route, backend?.pipeline),
    ),
  }
}

function wasReached(x: Exchange, step: Step, ...pipelines: (Pipeline | undefined)[]): boolean {
  const { stoppedAt } = x
  if (stoppedAt === undefined) return true
  for (const pipeline of pipelines) {
    if (!pipeline) continue
    const stop = (pipeline.steps as readonly PolicyPlace[]).indexOf(stoppedAt)
    if (stop >= 0 && pipeline.steps.indexOf(step) > stop) return false
  }
  return true
}

function transformed(
  body: Buffer | string | undefined,
  steps: readonly Step[],
  x: Exchange,
): Buffer | string | undefined {
  if (steps.length === 0 || body === undefined) return body
  // Local replies are complete, so only chunk transforms apply.
  const hooks = responseBodyHooks(steps, x).filter(hook => 'chunk' in hook)
  if (hooks.length === 0) return body
  x.response?.headers.delete('content-length')
  const first = passChunk(hooks, Buffer.from(body))
  return Buffer.concat([...(first ? [first] : []), ...flushChunks(hooks)])
}

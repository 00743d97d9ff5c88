import { setImmediate } from 'node:timers/promises'
import { runDone } from '../../calls/run-policies.ts'
import { handle } from '../../engine/handle.ts'
import { newPassage, type Serving } from '../../engine/passage.ts'
import { traceFinished } from '../../engine/trace/stages.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { TraceEvent } from '../../trace/trace-event.ts'
import { addressesOf, type BackendNames, namesOfCall } from './backend-names.ts'
import { refusalOf } from './connection.ts'
import { callOf, pairsOf } from './dry-call.ts'
import { bindOf, type DryRequest, exchangeOf } from './dry-request.ts'
import type { DryWorld } from './dry-world.ts'
import { MemoryDownstream } from './memory-downstream.ts'
import type { DryCall, DryOutcome } from './outcome.ts'
import { untilQuiet } from './until-quiet.ts'

/** A compiled configuration. */
interface Compiled {
  readonly serving: Serving
  readonly names: BackendNames
}

/** Runs one request from its head to the end of its response. */
export async function runRequest(
  id: string,
  request: DryRequest,
  { serving, names: written }: Compiled,
  world: DryWorld,
  traced: boolean,
): Promise<DryOutcome> {
  const { runtime, clock } = world
  const x = exchangeOf(id, request, serving, runtime)
  const { body } = x
  world.credentials.calls(x, request)
  const calls: DryCall[] = []
  world.onCall = (call, answer) => {
    const own = call.purpose?.kind === 'Primary'
    const names = own ? namesOfCall(call.target, x) : addressesOf(call.target)
    const answered = answer(names)
    calls.push(callOf(own ? 'backend' : 'service', names, call, answered, serving.heads))
    return answered.reply
  }
  const trace = traced ? startTrace(x, serving, world) : undefined
  const passage = newPassage()
  const out = new MemoryDownstream(request.method)
  const bind = bindOf(x, serving)
  const refusal = await refusalOf(x, bind, serving)
  if (refusal !== undefined) x.error = refusal
  else {
    // An aborted call, as at a deadline, never completes; follow-up work runs in the same turn as the answer.
    const answered = untilQuiet(out).then(() => setImmediate())
    await Promise.race([handle(x, bind, serving, out, passage, runtime), answered])
    await answered
    if (out.state !== 'ended') x.abort()
  }
  passage.deadline?.cancel()
  x.endedMono = clock.mono()
  x.responseBytes = out.size
  for (const pipeline of [passage.backend?.pipeline, passage.route, passage.listener]) runDone(pipeline?.done, x)
  body.release?.()
  if (x.trace) traceFinished(x)
  trace?.close()
  const { head } = out
  return {
    events: trace?.events ?? [],
    status: head?.status,
    headers: head ? pairsOf(head.headers) : [],
    shown: head && serving.heads.response(head),
    body: out.body,
    upstream: calls,
    bind: bind.key,
    listener: x.listener?.key,
    route: x.route?.key,
    backend: x.backend?.name,
    backends: namesOfBackend(calls, x, written),
    error: x.error,
    reason: refusal === undefined ? x.reason : 'Connection',
    llm: x.llm && { ...x.llm },
    mcp: x.mcp && { ...x.mcp },
    a2a: x.a2a && { ...x.a2a },
    duration: clock.mono() - x.startedMono,
  }
}

function startTrace(x: Exchange, { heads }: Serving, { hub }: DryWorld) {
  const events: TraceEvent[] = []
  const watch = hub.watch({ requests: 1 })
  if (watch === undefined || 'problem' in watch) throw new Error('a hub of its own has room for one watcher')
  watch.onEvent = () => {
    for (let event = watch.next(); event !== undefined; event = watch.next()) events.push(event)
  }
  x.trace = hub.start(x, heads)
  return { events, close: () => watch.close() }
}

function namesOfBackend(calls: readonly DryCall[], x: Exchange, written: BackendNames): readonly string[] {
  const called = calls.filter(({ purpose }) => purpose === 'backend').flatMap(({ names }) => names)
  return [...new Set([...called, ...written.of(x)])]
}

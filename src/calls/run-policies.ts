import type { Attempt, ConnectionFacts, Exchange, Reply } from '../http/exchange.ts'
import type { TraceScope } from '../trace/trace-event.ts'
import type { BodyHook, BodyPassage, PolicyStep, Verdict } from './step.ts'

/**
 * Runs the request hooks of one phase in order, until one replies. Stays synchronous as long as every hook does.
 * Policies are timed and traced only here and in the functions below.
 */
export function runRequest(
  steps: readonly PolicyStep[],
  phase: string,
  x: Exchange,
  from = 0,
  to = steps.length,
): Verdict | Promise<Verdict> {
  for (let i = from; i < to; i++) {
    const step = steps[i]!
    const started = x.trace?.enter(step.origins)
    let verdict: Verdict | Promise<Verdict>
    try {
      verdict = step.hooks.request!(x)
    } catch (error) {
      rethrow(x, step, phase, error, started)
    }
    if (verdict instanceof Promise) return requestAfter(verdict, steps, phase, x, i, to, started)
    if (verdict) x.stoppedAt = step
    if (started !== undefined) traceVerdict(x, step, phase, verdict, started)
    if (verdict) return verdict
  }
  return undefined
}

/** Runs a backend's policies before one call to it. */
export function runAttempt(
  steps: readonly PolicyStep[],
  x: Exchange,
  attempt: Attempt,
  from = 0,
): Verdict | Promise<Verdict> {
  for (let i = from; i < steps.length; i++) {
    const step = steps[i]!
    const started = x.trace?.enter(step.origins)
    let verdict: Verdict | Promise<Verdict>
    try {
      verdict = step.hooks.attempt ? step.hooks.attempt(x, attempt) : step.hooks.request!(x)
    } catch (error) {
      rethrow(x, step, 'backend', error, started)
    }
    if (verdict instanceof Promise) return attemptAfter(verdict, steps, x, attempt, i, started)
    if (verdict) x.stoppedAt = step
    if (started !== undefined) traceVerdict(x, step, 'backend', verdict, started)
    if (verdict) return verdict
  }
  return undefined
}

/** Response hooks see the head in `x.response` and may change it. */
export function runResponse(steps: readonly PolicyStep[], x: Exchange, from = 0): void | Promise<void> {
  for (let i = from; i < steps.length; i++) {
    const step = steps[i]!
    const started = x.trace?.enter(step.origins)
    let done: void | Promise<void>
    try {
      done = step.hooks.response!(x)
    } catch (error) {
      traceFailure(x, step, 'response', error, started)
      throw error
    }
    if (done instanceof Promise) return responseAfter(done, steps, x, i, started)
    if (started !== undefined) traceResponse(x, step, started)
  }
}

// Separate functions: a closure inside the loops would cost every iteration, whether or not a hook is asynchronous.

async function requestAfter(
  waiting: Promise<Verdict>,
  steps: readonly PolicyStep[],
  phase: string,
  x: Exchange,
  i: number,
  to: number,
  started: number | undefined,
): Promise<Verdict> {
  const verdict = await waitFor(x, steps[i]!, phase, waiting, started)
  return verdict ?? (await runRequest(steps, phase, x, i + 1, to))
}

async function attemptAfter(
  waiting: Promise<Verdict>,
  steps: readonly PolicyStep[],
  x: Exchange,
  attempt: Attempt,
  i: number,
  started: number | undefined,
): Promise<Verdict> {
  const verdict = await waitFor(x, steps[i]!, 'backend', waiting, started)
  return verdict ?? (await runAttempt(steps, x, attempt, i + 1))
}

async function waitFor(
  x: Exchange,
  step: PolicyStep,
  phase: string,
  waiting: Promise<Verdict>,
  started: number | undefined,
): Promise<Verdict> {
  x.waitingIn = step
  try {
    const verdict = await waiting
    x.waitingIn = undefined
    if (verdict) x.stoppedAt = step
    if (started !== undefined) traceVerdict(x, step, phase, verdict, started)
    return verdict
  } catch (error) {
    rethrow(x, step, phase, error, started)
  }
}

async function responseAfter(
  waiting: Promise<void>,
  steps: readonly PolicyStep[],
  x: Exchange,
  i: number,
  started: number | undefined,
): Promise<void> {
  x.waitingIn = steps[i]!
  try {
    await waiting
  } catch (error) {
    traceFailure(x, steps[i]!, 'response', error, started)
    throw error
  }
  x.waitingIn = undefined
  if (started !== undefined) traceResponse(x, steps[i]!, started)
  await runResponse(steps, x, i + 1)
}

export function runDone(steps: readonly PolicyStep[] | undefined, x: Exchange): void {
  if (steps) for (const step of steps) step.hooks.done!(x)
}

/**
 * Runs the connection policies, before any HTTP. Returns the one that closes the connection, if any. `trace`: of a dry
 * run.
 */
export async function runConnection(
  steps: readonly PolicyStep[],
  connection: ConnectionFacts,
  trace?: TraceScope,
): Promise<PolicyStep | undefined> {
  for (const step of steps) {
    const from = trace?.enter(step.origins)
    const verdict = step.hooks.connection!(connection, trace)
    const passes = verdict instanceof Promise ? await verdict : verdict
    if (trace && from !== undefined) traceConnection(trace, step, passes, from)
    if (!passes) return step
  }
  return undefined
}

/** The body transforms that apply to this exchange, in order; empty if the body passes untouched. */
export function responseBodyHooks(steps: readonly PolicyStep[], x: Exchange): (BodyHook | BodyPassage)[] {
  const hooks: (BodyHook | BodyPassage)[] = []
  for (const step of steps) {
    const hook = step.hooks.responseBody!(x)
    if (hook) hooks.push(hook)
  }
  return hooks
}

export function requestBodyHooks(steps: readonly PolicyStep[], x: Exchange): BodyHook[] {
  const hooks: BodyHook[] = []
  for (const step of steps) {
    const hook = step.hooks.requestBody!(x)
    if (hook) hooks.push(hook)
  }
  return hooks
}

/** Passes a chunk through a chain of transforms; undefined while one of them holds it back. */
export function passChunk(hooks: readonly BodyHook[], data: Buffer, from = 0): Buffer | undefined {
  let chunk: Buffer | undefined = data
  for (let i = from; i < hooks.length && chunk; i++) chunk = hooks[i]!.chunk(chunk)
  return chunk && chunk.length > 0 ? chunk : undefined
}

/** What the transforms still hold when the body is complete, each flushed through those after it. */
export function flushChunks(hooks: readonly BodyHook[]): Buffer[] {
  const out: Buffer[] = []
  for (let i = 0; i < hooks.length; i++) {
    const held = hooks[i]!.end()
    const passed = held && held.length > 0 ? passChunk(hooks, held, i + 1) : undefined
    if (passed) out.push(passed)
  }
  return out
}

function rethrow(x: Exchange, step: PolicyStep, phase: string, error: unknown, started: number | undefined): never {
  x.stoppedAt = step
  traceFailure(x, step, phase, error, started)
  throw error
}

function traceFailure(x: Exchange, step: PolicyStep, phase: string, error: unknown, started: number | undefined): void {
  x.waitingIn = undefined
  if (!x.trace || started === undefined) return
  const detail = error instanceof Error ? error.message : 'failed'
  x.trace.emit(
    { type: 'policy', policy: step.policy, phase, result: 'failed', detail },
    { severity: 'error', origins: step.origins, from: started },
  )
  x.trace.leave()
}

function traceVerdict(x: Exchange, step: PolicyStep, phase: string, reply: Reply | undefined, started: number): void {
  if (!x.trace) return
  const detail = reply ? { detail: `answered ${reply.status}` } : {}
  x.trace.emit(
    { type: 'policy', policy: step.policy, phase, result: reply ? 'replied' : 'applied', ...detail },
    { severity: reply && reply.status >= 400 ? 'error' : 'success', origins: step.origins, from: started },
  )
  x.trace.snapshot(step.policy)
  x.trace.leave()
}

function traceResponse(x: Exchange, step: PolicyStep, started: number): void {
  if (!x.trace) return
  x.trace.emit(
    { type: 'policy', policy: step.policy, phase: 'response', result: 'applied' },
    { severity: 'success', origins: step.origins, from: started },
  )
  x.trace.snapshot(step.policy)
  x.trace.leave()
}

function traceConnection(trace: TraceScope, { policy, origins }: PolicyStep, passes: boolean, from: number): void {
  const detail = passes ? {} : { detail: 'closes the connection' }
  trace.emit(
    { type: 'policy', policy, phase: 'connection', result: passes ? 'applied' : 'failed', ...detail },
    { severity: passes ? 'success' : 'error', origins, from },
  )
  trace.leave()
}

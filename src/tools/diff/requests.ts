import type { DryGateway } from '../dry-run/dry-run.ts'
import type { DiffOptions } from './diff.ts'
import type { Side } from './side.ts'
import type { Structure } from './structure.ts'
import type { Decision } from './witness/decision.ts'
import type { OutcomeDifference } from './witness/outcome.ts'
import type { Witness, Witnesses } from './witness/witnesses.ts'

/** The effect of the differences on requests, as far as they were tried. */
export interface Requests {
  /** Requests run on both sides, counting repetitions. */
  readonly tried: number
  readonly differ: readonly RequestDifference[]
}

/** A request that the two sides handle differently. */
export interface RequestDifference {
  readonly request: {
    readonly method: string
    readonly url: string
    readonly headers: readonly (readonly [string, string])[]
    readonly body?: string
    /** Claims of its token. */
    readonly jwt?: Readonly<Record<string, unknown>>
    /** Metadata of its API key. */
    readonly apiKey?: unknown
    readonly source?: string
  }
  readonly with: readonly string[]
  /** Which of its consecutive calls. */
  readonly call: number
  readonly differences: readonly OutcomeDifference[]
  readonly before: Decision
  readonly after: Decision
  /** Number of other requests that differ in the same way. */
  readonly more: number
}

/** Takes seconds with thousands of routes. */
const MAX_REQUESTS = 5000

/** Runs requests on both sides. Undefined if that is impossible, with a reason in `notes`. */
export async function compareRequests(
  [before, after]: readonly [Side, Side],
  { routes }: Structure,
  options: DiffOptions,
  notes: string[],
): Promise<Requests | undefined> {
  const recorded = options.requests
  if (recorded === undefined && routes.before.size + routes.after.size === 0) return { tried: 0, differ: [] }
  const time = Date.now()
  const left = await openSide(before, time, options, notes)
  const right = await openSide(after, time, options, notes)
  if (!left || !right) return undefined
  const { findWitnesses, replayed } = await import('./witness/witnesses.ts')
  const sides = [
    { dump: before.dump, gateway: left, routes: routes.before },
    { dump: after.dump, gateway: right, routes: routes.after },
  ] as const
  let found: Witnesses
  if (recorded === undefined) {
    const limits = { requests: options.limit ?? MAX_REQUESTS, progress: options.progress }
    found = await findWitnesses(...sides, limits)
    if (found.left > 0)
      notes.push(`${found.left} of the routes that may have changed were not tried: --limit allows more requests.`)
  } else {
    const { recordedProbes } = await import('./witness/recorded-probes.ts')
    const note = (text: string) => notes.push(text)
    found = await replayed(...sides, recordedProbes(recorded, options, [left.snapshot, right.snapshot], note))
  }
  return {
    tried: found.tried,
    differ: found.found.toSorted((a, b) => weightOf(a) - weightOf(b)).map(requestDifference),
  }
}

async function openSide(
  { name, configuration }: Side,
  time: number,
  { cwd, env, partial }: DiffOptions,
  notes: string[],
): Promise<DryGateway | undefined> {
  if (configuration === undefined) {
    notes.push(`${name} is a dump: no request can be run through it.`)
    return undefined
  }
  const { loadDryGateway } = await import('../dry-run/dry-run.ts')
  const { texts, readReferenced } = configuration
  const { gateway, loaded } = await loadDryGateway(texts, {
    cwd,
    env,
    time,
    partial,
    ...(readReferenced === undefined ? {} : { readReferenced }),
  })
  if (!gateway) {
    const why = loaded.diagnostics.find(({ code }) => code.startsWith('GW6'))
    notes.push(`No request was run: ${name} holds what is not served${why === undefined ? '' : ` (${why.message})`}.`)
  }
  return gateway
}

/** Differences that clients notice come first, then where requests are sent. */
function weightOf({ differences }: Witness): number {
  const has = (what: string) => differences.some(each => each.what === what)
  return has('status') ? 0 : has('call') ? 1 : 2
}

function requestDifference({ probe, call, differences, before, after, more }: Witness): RequestDifference {
  const { method, body, jwt, apiKey, source } = probe.request
  const { url, headers } = probe.shown ?? probe.request
  const hide = (text: string) =>
    (probe.shown?.hidden ?? []).reduce((rest, value) => rest.replaceAll(value, '<redacted>'), text)
  return {
    request: {
      method,
      url,
      headers,
      ...(body === undefined ? {} : { body: body.toString('utf8', 0, 2000) }),
      ...(jwt === undefined ? {} : { jwt }),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(source === undefined ? {} : { source }),
    },
    with: probe.words,
    call,
    differences: differences.map(({ what, before, after }) => ({ what, before: hide(before), after: hide(after) })),
    before,
    after,
    more,
  }
}

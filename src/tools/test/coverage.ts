import type { Bind, Listener, Route, Snapshot, Step } from '../../config/snapshot.ts'
import type { Origin } from '../../diagnostics/diagnostic.ts'
import { shortKey } from '../trace/steps.ts'
import { type CoveredKind, placeKey } from './reached.ts'
import type { RunFile } from './run-tests.ts'

/** A part of a configuration that requests can come to. */
export interface CoveredPart {
  readonly kind: CoveredKind
  /** `hello`, `hello/cors` */
  readonly name: string
  readonly origin: Origin
  /** How often requests came to it; of a policy, how often it did something. */
  hits: number
}

/** Parts by where they are written; configurations that several test files share are counted once. */
export type Coverage = readonly CoveredPart[]

export function coverageOf(files: readonly RunFile[]): Coverage {
  const parts = new Map<string, CoveredPart>()
  for (const { ran } of files) {
    if (ran === undefined) continue
    const own = partsOf(ran.snapshot)
    for (const part of own) {
      const key = placeKey(part.kind, part.origin)
      if (!parts.has(key)) parts.set(key, part)
    }
    for (const [key, hits] of ran.reached) {
      const part = parts.get(key)
      if (part) part.hits += hits
    }
    for (const { origin, silentOn } of own) {
      const part = parts.get(placeKey('policy', origin))
      const holder = silentOn && parts.get(placeKey(silentOn.kind, silentOn.origin))
      if (part && holder) part.hits = Math.max(part.hits, holder.hits)
    }
  }
  return [...parts.values()].sort((a, b) => byPlace(a.origin, b.origin))
}

/** Percent; 100 where there is nothing to come to. */
export function percentOf(parts: Coverage): number {
  return parts.length === 0 ? 100 : (parts.filter(({ hits }) => hits > 0).length / parts.length) * 100
}

function byPlace(a: Origin, b: Origin): number {
  return a.file === b.file ? a.line - b.line || a.col - b.col : a.file < b.file ? -1 : 1
}

interface Part extends CoveredPart {
  /** Of a policy that tells nothing when it runs: what it stands on, which it counts as often as. */
  readonly silentOn?: Pick<CoveredPart, 'kind' | 'origin'>
}

function partsOf({ binds }: Snapshot): Part[] {
  const seen = new Set<object>()
  return binds.flatMap(bind => bind.listeners.flatMap(listener => [...listenerParts(listener, bind, seen)]))
}

/** `seen`: groups whose routes are among the parts already; several routes may lead to one, and it back to them. */
function* listenerParts(listener: Listener, bind: Bind, seen: Set<object>): Generator<Part> {
  const { origin, key } = listener
  yield { kind: 'listener', name: `${shortKey(key)} on ${bind.port}`, origin, hits: 0 }
  yield* policyParts(listener.pipeline.steps, shortKey(key), { kind: 'listener', origin })
  for (const route of listener.routes) yield* routeParts(route, seen)
}

function* routeParts(route: Route, seen: Set<object>): Generator<Part> {
  const name = shortKey(route.key)
  yield { kind: 'route', name, origin: route.origin, hits: 0 }
  yield* policyParts(route.pipeline.steps, name, { kind: 'route', origin: route.origin })
  for (const { backend, pipeline, origin, delegates } of route.backends) {
    if (delegates === undefined) {
      yield { kind: 'backend', name: shortKey(backend.name), origin, hits: 0 }
      yield* policyParts(pipeline.steps, name, { kind: 'backend', origin })
    } else if (!seen.has(delegates)) {
      seen.add(delegates)
      for (const inner of delegates.routes) yield* routeParts(inner, seen)
    }
  }
}

function* policyParts(
  steps: readonly Step[],
  holder: string,
  silentOn: NonNullable<Part['silentOn']>,
): Generator<Part> {
  for (const { policy, hooks, origins } of steps) {
    const { request, attempt, response, requestBody, responseBody } = hooks
    const tells = request ?? attempt ?? response ?? requestBody ?? responseBody
    for (const origin of origins) {
      const part = { kind: 'policy' as const, name: `${holder}/${policy}`, origin, hits: 0 }
      yield tells === undefined ? { ...part, silentOn } : part
    }
  }
}

import type { FrontendSettings } from '../policies/policy.ts'
import type { Telemetry } from './compile-telemetry.ts'
import type { Bind, HeldBodies, Pipeline, Route, WeightedBackend } from './snapshot.ts'

/**
 * How much memory bodies may take under this configuration: the bound over all requests, and the longest single body.
 */
export function heldBodies(
  { bodies, maxBuffer }: FrontendSettings,
  binds: readonly Bind[],
  named: Iterable<WeightedBackend>,
  telemetry: Telemetry,
): HeldBodies {
  const seen = new Set<object>()
  let largest = readsBodies(telemetry) ? maxBuffer : 0
  const add = (bytes = 0): void => {
    largest = Math.max(largest, bytes)
  }
  const addPipeline = ({ steps, retry }: Pipeline): void => {
    if (retry) add(KEPT_FOR_RETRY)
    for (const { hooks } of steps) {
      add(hooks.buffersRequest)
      add(hooks.holdsRequest)
      add(hooks.buffersResponse?.limit)
    }
  }
  const addBackend = ({ backend, pipeline, delegates }: WeightedBackend): void => {
    add(backend.holdsRequest)
    addPipeline(pipeline)
    if (delegates) addRoutes(delegates.routes)
  }
  const addRoutes = (routes: readonly Route[]): void => {
    // A group can be reached from several routes, or from itself.
    if (seen.has(routes)) return
    seen.add(routes)
    for (const { pipeline, backends } of routes) {
      addPipeline(pipeline)
      for (const backend of backends) addBackend(backend)
    }
  }
  for (const { listeners } of binds) {
    for (const { pipeline, routes } of listeners) {
      addPipeline(pipeline)
      addRoutes(routes)
    }
  }
  for (const backend of named) addBackend(backend)
  return { limits: bodies, largest }
}

/** The bytes of memory that bodies may take at a time. Undefined if nothing buffers a body. */
export function mostHeld({ limits, largest }: HeldBodies): number | undefined {
  return largest === 0 ? undefined : limits.total
}

/** The bytes of a request body that are kept for a retry. A longer body is sent once. */
export const KEPT_FOR_RETRY = 64 * 1024

function readsBodies({ log, sentLog, spans, labels }: Telemetry): boolean {
  const values = [log, sentLog, spans].flatMap(rules => [
    rules?.filter,
    ...(rules?.add.map(({ value }) => value) ?? []),
  ])
  return [...values, spans?.spanName, ...labels.map(({ value }) => value)].some(
    each => each?.readsRequestBody || each?.readsResponseBody,
  )
}

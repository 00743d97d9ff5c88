import type { Route, WeightedBackend } from '../../config/snapshot.ts'
import type { TraceEvent, TraceMessage } from '../../trace/trace-event.ts'
import type { DryOutcome } from '../dry-run/dry-run.ts'
import type { BackendChosen, NotChosen } from './explanation.ts'
import { originOf, place } from './trace-reading.ts'

/** The selected backend of the route, then the model, provider or endpoint within it, and why not another. */
export function backendsOf(route: Route | undefined, outcome: DryOutcome, seed: number): BackendChosen[] {
  const chosen = route?.backends.find(({ backend }) => backend.name === outcome.backend)
  if (route === undefined || chosen === undefined) return []
  const told = outcome.events.flatMap(event => (event.message.type === 'backend' ? [partOf(event, event.message)] : []))
  return [outermost(route, chosen, seed), ...told.filter(({ name }) => name !== chosen.backend.name)]
}

function outermost({ backends, totalWeight }: Route, chosen: WeightedBackend, seed: number): BackendChosen {
  const drawn = `drawn by weight, ${chosen.weight} of ${totalWeight}, with seed ${seed}`
  return {
    name: chosen.backend.name,
    kind: chosen.backend.kind,
    ...(backends.length > 1 ? { why: drawn } : {}),
    origin: place(chosen.origin),
    others: backends.filter(each => each !== chosen).map(each => notDrawn(each, totalWeight)),
  }
}

function notDrawn({ backend, weight, origin }: WeightedBackend, total: number): NotChosen {
  const why = weight === 0 ? 'weight 0: never drawn' : `not drawn: weight ${weight} of ${total}`
  return { name: backend.name, why, origin: place(origin) }
}

function partOf(event: TraceEvent, message: Extract<TraceMessage, { type: 'backend' }>): BackendChosen {
  const { backend, kind, reason, others = [] } = message
  return {
    name: backend,
    kind,
    ...(reason === undefined ? {} : { why: reason }),
    ...originOf(event.origins),
    others: others.map(other => ({ name: other.backend, why: other.reason })),
  }
}

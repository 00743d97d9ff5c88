import type { Exchange } from '../../http/exchange.ts'
import { matchesModel } from '../../llm/model-name.ts'
import type { Candidate } from './candidates.ts'
import type { Model } from './compile-models.ts'
import type { ModelChoice, VirtualModel } from './virtual-models.ts'

// Which model a traced request was routed to, and why not to another one.

/**
 * `chosen`: undefined if none matches. Only public models are listed as alternatives: others cannot be requested by
 * name.
 */
export function traceModel(x: Exchange, asked: string, chosen: Model | undefined, models: readonly Model[]): void {
  const others = models
    .filter(model => model.visible && model !== chosen)
    .map(model => ({ backend: model.name, reason: whyNot(model, asked, x) }))
  if (chosen) {
    x.trace?.emit({ type: 'backend', backend: chosen.name, kind: 'model', reason: `asked for as ${asked}`, others })
    return
  }
  const reason = 'no model fits that name'
  x.trace?.emit({ type: 'backend', backend: asked, kind: 'model', reason, others }, { severity: 'error' })
}

function whyNot(model: Model, asked: string, x: Exchange): string {
  if (!matchesModel(model.name, asked)) return 'another name'
  return model.fits(x) ? 'less specific, or further down' : 'its header conditions do not hold'
}

export function traceVirtualModel(x: Exchange, virtual: VirtualModel, candidates: readonly ModelChoice[]): void {
  const [first, ...next] = candidates
  const open = new Set(candidates.map(({ name }) => name))
  const closed = virtual.targets.filter(name => !open.has(name))
  const others = [...inReserve(next), ...closed.map(name => ({ backend: name, reason: virtual.whyNot }))]
  const told = { type: 'backend', backend: first?.name ?? virtual.name, kind: 'model' } as const
  if (first) x.trace?.emit({ ...told, reason: `chosen for the virtual model ${virtual.name}`, others })
  else x.trace?.emit({ ...told, reason: 'no target fits', others }, { severity: 'error' })
}

/** In the order of attempts. */
export function traceProviders({ trace }: Exchange, [first, ...next]: readonly Candidate[]): void {
  if (!first || next.length === 0) return
  const others = inReserve(next)
  trace?.emit({ type: 'backend', backend: first.name, kind: 'ai', reason: 'first by group and health', others })
}

function inReserve(candidates: readonly Candidate[]) {
  return candidates.map(({ name }) => ({ backend: name, reason: 'asked when those before it fail' }))
}

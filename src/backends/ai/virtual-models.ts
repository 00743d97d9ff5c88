import { holdsForSure } from '../../cel/guard.ts'
import type { Exchange } from '../../http/exchange.ts'
import { indexModels, type ModelIndex } from '../../llm/model-name.ts'
import type { BackendContext } from '../backend.ts'
import { type Candidate, rank } from './candidates.ts'
import type { Model } from './compile-models.ts'
import type { LlmSpec, VirtualModelSpec } from './llm-schema.ts'

/** A model chosen for a request, with the model name to send to its provider. */
export interface ModelChoice extends Candidate {
  readonly model: Model
}

export function choiceOf(model: Model, name: string): ModelChoice {
  const { health, rules, steps, origin } = model
  return { model, name, health, rules, steps, origin }
}

export interface VirtualModel {
  readonly name: string
  /** Candidates, best first; the next one is used only when a call fails. Empty if no condition holds. */
  choose(x: Exchange): readonly ModelChoice[]
  /** The eligible models, and why none was chosen: for traces. */
  readonly targets: readonly string[]
  readonly models: readonly Model[]
  readonly whyNot: string
}

/** By name, without those that have findings. */
export function compileVirtualModels(
  spec: LlmSpec,
  models: readonly Model[],
  ctx: BackendContext,
): Map<string, VirtualModel> {
  const index = indexModels(models.map(model => [model.name, model] as const))
  // A model with an unreadable name may have any name.
  const dropped = (ctx.leftOut?.(['models']) ?? []).map(name => name ?? '*')
  const declared = indexModels([...spec.models.map(model => model.name), ...dropped].map(name => [name, name] as const))
  const out = new Map<string, VirtualModel>()
  for (const [i, virtual] of (spec.virtualModels ?? []).entries()) {
    if (out.has(virtual.name)) {
      ctx.report({
        code: 'GW203',
        path: ['virtualModels', i, 'name'],
        at: 'value',
        message: `two virtual models are called \`${virtual.name}\``,
      })
      continue
    }
    if (targetsExist(virtual, i, declared, ctx)) {
      const { name, routing } = virtual
      const targets = targetsOf(virtual).map(({ model }) => model)
      const whyNot = routing.conditional ? 'its condition does not hold, or one before it does' : 'not drawn'
      const chosen = targets.flatMap(target => index.find(target)[0] ?? [])
      out.set(name, { name, choose: compileChoice(routing, index, ctx), targets, models: chosen, whyNot })
    }
  }
  return out
}

function targetsExist(virtual: VirtualModelSpec, i: number, models: ModelIndex<string>, ctx: BackendContext): boolean {
  const { weighted, failover } = virtual.routing
  const kind = weighted ? 'weighted' : failover ? 'failover' : 'conditional'
  let complete = true
  for (const [t, { model }] of targetsOf(virtual).entries()) {
    if (models.find(model).length > 0) continue
    complete = false
    ctx.report({
      code: 'GW204',
      path: ['virtualModels', i, 'routing', kind, 'targets', t, 'model'],
      at: 'value',
      message: `there is no model called \`${model}\``,
      help: 'targets are entries of `models`, internal ones included; virtual models cannot be targets',
    })
  }
  return complete
}

function targetsOf({ routing }: VirtualModelSpec): readonly { readonly model: string }[] {
  return (routing.weighted ?? routing.failover ?? routing.conditional)?.targets ?? []
}

type Choice = VirtualModel['choose']

function compileChoice(routing: VirtualModelSpec['routing'], index: ModelIndex<Model>, ctx: BackendContext): Choice {
  const at = (name: string): ModelChoice[] => {
    const model = index.find(name)[0]
    return model ? [choiceOf(model, name)] : []
  }
  if (routing.weighted) {
    const targets = routing.weighted.targets.map(({ model, weight }) => ({ weight, candidates: at(model) }))
    const total = targets.reduce((sum, { weight }) => sum + weight, 0)
    return () => {
      let left = ctx.runtime.random() * total
      for (const { weight, candidates } of targets) {
        left -= weight
        if (left < 0) return candidates
      }
      return targets.at(-1)?.candidates ?? []
    }
  }
  if (routing.failover) return failover(routing.failover.targets, at, ctx)
  const targets = (routing.conditional?.targets ?? []).map(({ when, model }) => ({ when, candidates: at(model) }))
  return x => {
    for (const { when, candidates } of targets) {
      if (when === undefined) return candidates
      if (holdsForSure(when, x)) return candidates
    }
    return []
  }
}

/** Priorities in order; requests are balanced by health within a priority. */
function failover(
  targets: readonly { readonly model: string; readonly priority: number }[],
  at: (name: string) => readonly ModelChoice[],
  ctx: BackendContext,
): Choice {
  const groups = [...new Set(targets.map(({ priority }) => priority))]
    .sort((a, b) => a - b)
    .map(priority => targets.filter(each => each.priority === priority).flatMap(({ model }) => at(model)))
  const { clock, random } = ctx.runtime
  return () => rank(groups, random, clock.mono())
}

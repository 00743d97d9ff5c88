import type { Bind, Listener, Route, Snapshot, Step } from '../../config/snapshot.ts'
import type { Origin } from '../../diagnostics/diagnostic.ts'
import { shortKey } from '../events/steps.ts'
import { type CoveredKind, placeKey, ruleKey } from './reached.ts'
import { modeOf, ruleOrigins, rulesOf } from './rules.ts'
import type { RunFile } from './run-tests.ts'

/** A part of a configuration that requests can reach. */
export interface CoveredPart {
  readonly kind: CoveredKind
  /** `hello`, `hello/cors`, `hello/authorization: deny jwt.sub == "bob"` */
  readonly name: string
  readonly origin: Origin
  /** How often requests reached it; for a policy, how often it had an effect; for a rule, how often it decided. */
  hits: number
}

/** Parts by location; configurations shared by several test files are counted once. */
export type Coverage = readonly CoveredPart[]

export function coverageOf(files: readonly RunFile[]): Coverage {
  const parts = new Map<string, CoveredPart>()
  for (const { ran, texts } of files) {
    if (ran === undefined) continue
    const lines = new Map(texts.map(({ file, text }) => [file, text.split('\n')]))
    const own = partsOf(ran.snapshot, file => lines.get(file) ?? [])
    const counted = new Set<string>()
    for (const part of own) {
      const key = keyOf(part)
      const known = parts.get(key) ?? part
      parts.set(key, known)
      const { reachedBy = [key] } = part
      const source = `${key} ${reachedBy.join()}`
      if (!counted.has(source)) known.hits += Math.max(...reachedBy.map(each => ran.reached.get(each) ?? 0))
      counted.add(source)
    }
    for (const part of own) {
      const holder = part.silentOn && parts.get(placeKey(part.silentOn.kind, part.silentOn.origin))
      const known = parts.get(keyOf(part))
      if (known && holder) known.hits = Math.max(known.hits, holder.hits)
    }
  }
  return [...parts.values()].sort((a, b) => byPlace(a.origin, b.origin))
}

/** Rules may share a location: those written in pieces have that of their policy. */
function keyOf({ kind, origin, name }: CoveredPart): string {
  return kind === 'rule' ? `${placeKey(kind, origin)} ${name}` : placeKey(kind, origin)
}

/** Percentage; 100 if there are no parts. */
export function percentOf(parts: Coverage): number {
  return parts.length === 0 ? 100 : (parts.filter(({ hits }) => hits > 0).length / parts.length) * 100
}

function byPlace(a: Origin, b: Origin): number {
  return a.file === b.file ? a.line - b.line || a.col - b.col : a.file < b.file ? -1 : 1
}

interface Part extends CoveredPart {
  /** For a policy without events of its own: the part that it is attached to, whose count it shares. */
  readonly silentOn?: Pick<CoveredPart, 'kind' | 'origin'>
  /** Its keys among the reached parts, if not its location: one per location of its policy. */
  readonly reachedBy?: readonly string[]
}

type LinesOf = (file: string) => readonly string[]

function partsOf({ binds }: Snapshot, linesOf: LinesOf): Part[] {
  return [...new Parts(linesOf).of(binds)]
}

class Parts {
  readonly #linesOf: LinesOf
  /** Groups whose routes have been added; several routes may lead to a group, and it back to them. */
  readonly #seen = new Set<object>()

  constructor(linesOf: LinesOf) {
    this.#linesOf = linesOf
  }

  *of(binds: readonly Bind[]): Generator<Part> {
    for (const bind of binds) {
      yield* this.#policies(bind.connection, `port ${bind.port}`, undefined)
      for (const listener of bind.listeners) yield* this.#listener(listener, bind)
    }
  }

  *#listener({ origin, key, pipeline, routes }: Listener, { port }: Bind): Generator<Part> {
    yield { kind: 'listener', name: `${shortKey(key)} on ${port}`, origin, hits: 0 }
    yield* this.#policies(pipeline.steps, shortKey(key), { kind: 'listener', origin })
    for (const route of routes) yield* this.#route(route)
  }

  *#route({ key, origin, pipeline, backends }: Route): Generator<Part> {
    const name = shortKey(key)
    yield { kind: 'route', name, origin, hits: 0 }
    yield* this.#policies(pipeline.steps, name, { kind: 'route', origin })
    for (const { backend, pipeline, origin, delegates } of backends) {
      if (delegates === undefined) {
        yield { kind: 'backend', name: shortKey(backend.name), origin, hits: 0 }
        yield* this.#policies(pipeline.steps, name, { kind: 'backend', origin })
      } else if (!this.#seen.has(delegates)) {
        this.#seen.add(delegates)
        for (const inner of delegates.routes) yield* this.#route(inner)
      }
    }
  }

  *#policies(steps: readonly Step[], holder: string, silentOn: Part['silentOn']): Generator<Part> {
    for (const step of steps) {
      const { policy, hooks, origins } = step
      const { connection, request, attempt, response, requestBody, responseBody } = hooks
      const tells = connection ?? request ?? attempt ?? response ?? requestBody ?? responseBody
      for (const origin of origins) {
        const part = { kind: 'policy' as const, name: `${holder}/${policy}`, origin, hits: 0 }
        yield tells === undefined && silentOn ? { ...part, silentOn } : part
      }
      yield* this.#rules(step, holder)
    }
  }

  *#rules(step: Step, holder: string): Generator<Part> {
    const [policy] = step.origins
    if (policy === undefined) return
    const rules = rulesOf(step)
    const origins = ruleOrigins(rules, step.origins, this.#linesOf)
    for (const [i, rule] of rules.entries()) {
      const name = `${holder}/${step.policy}: ${rule.mode} ${rule.text.trim().replaceAll(/\s+/g, ' ')}`
      const told = { ...rule, mode: modeOf(step.policy, rule) }
      const reachedBy = step.origins.map(each => ruleKey(told, each))
      yield { kind: 'rule', name, origin: origins[i] ?? policy, hits: 0, reachedBy }
    }
  }
}

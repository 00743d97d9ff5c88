import type { Step } from '../../config/snapshot.ts'
import type { Origin } from '../../diagnostics/diagnostic.ts'
import type { AnyPolicy } from '../../policies/fields.ts'
import { frontendPolicies, policyNamed, trafficPolicies } from '../../policies/index.ts'
import type { TraceEvent } from '../../trace/trace-event.ts'
import { blockEnd } from './config-lines.ts'

/** A rule of a rule-based policy. */
export interface Rule {
  readonly mode: string
  /** The expression. */
  readonly text: string
}

const BY_RULES: ReadonlySet<string> = new Set(
  ([...trafficPolicies, ...frontendPolicies] as readonly AnyPolicy[]).flatMap(({ name, accumulates }) =>
    accumulates ? [name] : [],
  ),
)

/** In file order; empty for policies without rules. */
export function rulesOf({ policy, spec }: Pick<Step, 'policy' | 'spec'>): readonly Rule[] {
  if (!BY_RULES.has(policy)) return []
  const written = Array.isArray(spec) ? spec : (spec as { readonly rules?: unknown }).rules
  return Array.isArray(written) ? written.flatMap(ruleIn) : []
}

function ruleIn(written: unknown): readonly Rule[] {
  if (typeof written === 'string') return [{ mode: 'allow', text: written }]
  const fields = Object.entries((written ?? {}) as Readonly<Record<string, unknown>>)
  return fields.flatMap(([mode, text]) => (typeof text === 'string' ? [{ mode, text }] : []))
}

/**
 * The rules that decided an event: the one that allowed, the one that denied, or unmet requirements. For MCP items each
 * rule has its own event, which does not include the mode, so it is listed under both modes that could have decided.
 */
export function decidingRules({ message }: TraceEvent): readonly Rule[] {
  if (message.type === 'authorization' && message.subject === undefined) {
    const deciding = message.rules.filter(({ mode, matched }) => matched === (mode !== 'require'))
    return deciding.map(({ mode, rule }) => ({ mode, text: rule }))
  }
  if (message.type !== 'cel') return []
  const modes =
    message.error !== undefined ? ['deny', 'require'] : message.result === true ? ['allow', 'deny'] : ['require']
  return modes.map(mode => ({ mode: `item ${mode}`, text: message.expression }))
}

/** The name of this policy's rules in `decidingRules`. */
export function modeOf(policy: string, { mode }: Rule): string {
  return policyNamed.get(policy)?.perItem ? `item ${mode}` : mode
}

type LinesOf = (file: string) => readonly string[]

/**
 * The location of each rule, searched after the previous one, whose text may contain that of the next; the policy's own
 * location if unknown.
 */
export function ruleOrigins(rules: readonly Rule[], policy: readonly Origin[], linesOf: LinesOf) {
  let behind: Origin | undefined
  return rules.map(({ text }) => {
    const written = text.trim()
    const place = placeOf(written, policy, linesOf, behind) ?? placeOf(written, policy, linesOf, undefined)
    if (place) behind = { ...place, col: place.col + (written.split('\n', 1)[0] ?? '').length }
    return place ?? policy[0]
  })
}

function placeOf(text: string, policy: readonly Origin[], linesOf: LinesOf, behind: Origin | undefined) {
  for (const origin of policy) {
    const lines = linesOf(origin.file)
    const end = blockEnd(lines, origin.line)
    const start = behind?.file === origin.file && behind.line >= origin.line ? behind : origin
    for (let line = start.line; line <= end; line++) {
      const at = beginsAt(text, lines[line - 1] ?? '', line === start.line ? start.col - 1 : 0)
      if (at >= 0) return { ...origin, line, col: at + 1 }
    }
  }
  return undefined
}

/** Where an expression begins on a line, in any quotes, or as the first line of a folded block; -1 for nowhere. */
function beginsAt(text: string, line: string, from: number): number {
  const [first = ''] = text.split('\n', 1)
  const spellings = [first, first.replaceAll("'", "''"), JSON.stringify(first).slice(1, -1)]
  const at = spellings.map(each => line.indexOf(each, from)).find(index => index >= 0)
  const piece = line.trim()
  const folded = piece.length >= SHORTEST && text.startsWith(piece)
  return at ?? (folded ? line.indexOf(piece, from) : -1)
}

/** Minimum number of characters to identify a line. */
const SHORTEST = 4

import type { Expression } from '../../cel/expression.ts'
import type { Path } from '../../diagnostics/diagnostic.ts'
import { cel, list, map, opt, string } from '../../schema/builder.ts'
import type { CalleeSpec, Collector, CompileContext } from '../policy.ts'
import { exportFields } from './otel-environment.ts'

/** A field computed for each record, label or span. */
export interface ComputedField {
  readonly name: string
  readonly value: Expression
}

/** Changes to the default fields of a record. */
export interface FieldChanges {
  readonly add: readonly ComputedField[]
  /** Default fields to omit: removed, or replaced by an added one. Undefined for none. */
  readonly without: ReadonlySet<string> | undefined
}

export interface LogRules extends FieldChanges {
  /** A record is emitted only if this is true; if unset, for every request. */
  readonly filter: Expression | undefined
}

/** A ratio from 0 to 1, a boolean, or an expression that returns either. */
export type Sampling = number | Expression

export interface SpanRules extends FieldChanges {
  /** Returns the name of the root span. */
  readonly spanName: Expression | undefined
  readonly resources: readonly ComputedField[]
  /** For requests without a trace context. */
  readonly random: Sampling
  /** For requests with a trace context. */
  readonly client: Sampling
  readonly filter: Expression | undefined
}

/** The changes as configured. */
export const changeFields = {
  add: opt(map(cel('log', 'any')), 'Field name to expression.'),
  remove: opt(list(string({ min: 1 }), { max: 32 }), 'Names of default fields to leave out.'),
}

export function fieldChanges(spec: {
  readonly add?: Readonly<Record<string, Expression>> | undefined
  readonly remove?: readonly string[] | undefined
}): FieldChanges {
  const add = computedFields(spec.add)
  const without = new Set([...(spec.remove ?? []), ...add.map(field => field.name)])
  return { add, without: without.size > 0 ? without : undefined }
}

/** `at`: path of the collector, relative to the policy. Undefined after a finding. */
export function collectorOf(
  spec: CollectorSpec,
  signal: 'traces' | 'logs',
  at: Path,
  ctx: CompileContext,
): Collector | undefined {
  const to = ctx.callee?.(spec, at)
  return to && { to, protocol: spec.protocol, path: spec.path, fields: exportFields(ctx.env, signal) }
}

type CollectorSpec = CalleeSpec & Pick<Collector, 'protocol' | 'path'>

export function computedFields(spec: Readonly<Record<string, Expression>> | undefined): ComputedField[] {
  return Object.entries(spec ?? {}).map(([name, value]) => ({ name, value }))
}

import type { Path } from '../diagnostics/diagnostic.ts'
import { targetFields } from '../policies/upstream/policy-target.ts'
import type { Schema } from '../schema/builder.ts'
import { visitWritten } from './written-values.ts'

interface TargetReference {
  readonly reference: string
  readonly path: Path
}

/** The backends that policies refer to, including policies that are not served yet. */
export function targetReferences(schema: Schema<unknown>, value: unknown): TargetReference[] {
  const out: TargetReference[] = []
  visitWritten(schema, value, ({ field, value: reference, path }) => {
    if (field === targetFields.backend && typeof reference === 'string') out.push({ reference, path: [...path] })
  })
  return out
}

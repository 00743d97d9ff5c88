import { parseDuration } from '../../schema/scalars.ts'
import { asFields } from '../../schema/untyped.ts'

/** ms: the durations that a spec has in these fields. */
export function writtenTimes(spec: unknown, names: readonly string[]): readonly number[] {
  return names.flatMap(name => {
    const text = asFields(spec)?.[name]
    return typeof text === 'string' ? (parseDuration(text) ?? []) : []
  })
}

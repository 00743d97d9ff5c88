import { parseDuration } from '../../schema/scalars.ts'
import { asFields } from '../../schema/untyped.ts'

/** The durations configured in these fields of a spec, in ms. */
export function writtenTimes(spec: unknown, names: readonly string[]): readonly number[] {
  return names.flatMap(name => {
    const text = asFields(spec)?.[name]
    return typeof text === 'string' ? (parseDuration(text) ?? []) : []
  })
}

import { stringify } from 'yaml'
import { Placeholder } from '../schema/placeholder.ts'

export interface PrintOptions {
  /** Write `$` as `$$`, so that reading the text with variables gives the same value. */
  readonly escapeDollars?: boolean
}

/**
 * A value as YAML text that readers of YAML 1.1 and 1.2 agree on. Shared parts are written out, unset variables keep
 * their `$NAME`, undefined fields are left out.
 */
export function printYaml(value: unknown, options: PrintOptions = {}): string {
  return stringify(plainOf(value, options.escapeDollars === true), {
    aliasDuplicateObjects: false,
    compat: 'yaml-1.1',
    lineWidth: 0,
  })
}

function plainOf(value: unknown, dollars: boolean): unknown {
  if (value instanceof Placeholder) return value.text
  if (typeof value === 'string') return dollars ? value.replaceAll('$', '$$$$') : value
  if (Array.isArray(value)) return value.map(item => plainOf(item, dollars))
  if (typeof value !== 'object' || value === null) return value
  // A Map, because the library's writer would lose a key named `__proto__` of an object.
  return new Map(
    Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .map(([key, field]) => [key, plainOf(field, dollars)]),
  )
}

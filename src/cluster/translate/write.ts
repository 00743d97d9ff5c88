import type { From, Origins } from './origin/origins.ts'

export interface WriteOptions {
  /** The comment with the origin of a part. */
  readonly annotate?: (from: From) => string
  readonly origins: Origins
}

const PLAIN = /^[A-Za-z/][\w./-]*(:\d+)?$/
/** Words that YAML 1.1 or 1.2 does not read as text. */
const WORDS = /^(y|n|yes|no|on|off|true|false|null|nan|inf)$/i

/** A file as YAML, deterministic byte for byte. `$` is doubled, since it begins a variable. */
export function writeFile(value: object, options: WriteOptions): string {
  return writeMap(Object.entries(value), value, '', options)
}

function writeMap(
  entries: readonly (readonly [string, unknown])[],
  holder: object,
  indent: string,
  o: WriteOptions,
): string {
  return entries
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => {
      const note = comment(holder, key, item, o)
      return `${indent}${scalar(key)}:${writeValue(item, indent, note, o)}`
    })
    .join('')
}

/** Writes a scalar on the key's line, any other value below it. */
function writeValue(value: unknown, indent: string, note: string, o: WriteOptions): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return ` []${note}\n`
    return `${note}\n${value.map((item, i) => writeItem(item, `${indent}  `, comment(value, i, item, o), o)).join('')}`
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined)
    if (entries.length === 0) return ` {}${note}\n`
    return `${note}\n${writeMap(entries, value, `${indent}  `, o)}`
  }
  return ` ${scalar(value)}${note}\n`
}

function writeItem(item: unknown, indent: string, note: string, o: WriteOptions): string {
  if (typeof item !== 'object' || item === null) return `${indent}- ${scalar(item)}${note}\n`
  const head = note === '' ? '' : `${indent}${note.trimStart()}\n`
  if (Array.isArray(item)) return `${head}${indent}-${writeValue(item, indent, '', o)}`
  const entries = Object.entries(item).filter(([, field]) => field !== undefined)
  if (entries.length === 0) return `${head}${indent}- {}\n`
  const body = writeMap(entries, item, `${indent}  `, o)
  return `${head}${indent}- ${body.slice(indent.length + 2)}`
}

function comment(holder: object, key: string | number, value: unknown, { annotate, origins }: WriteOptions): string {
  const from = annotate && origins.own(holder, key, value)
  return from ? ` # ${annotate(from)}` : ''
}

function scalar(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return JSON.stringify(value)
  const text = String(value).replaceAll('$', '$$$$')
  return PLAIN.test(text) && !WORDS.test(text) ? text : JSON.stringify(text)
}

import type { Exchange } from '../../http/exchange.ts'
import type { LogRules } from '../../policies/frontend/telemetry.ts'
import { quoted, type RecordLog } from '../logging.ts'
import { type ComputedValue, computedValues, type FieldSink, placeFields, requestFields } from './record-fields.ts'

/** Writes one record per finished exchange to the process log, as text or JSON. */
export class AccessLog {
  readonly #rules: LogRules
  readonly #log: RecordLog
  readonly #makeRecord: (without: ReadonlySet<string> | undefined) => LogRecord
  /** The start of a record, common to all requests of a route. */
  readonly #places = new WeakMap<object, string>()

  constructor(rules: LogRules, log: RecordLog) {
    this.#rules = rules
    this.#log = log
    this.#makeRecord = log.format === 'json' ? without => new JsonRecord(without) : without => new TextRecord(without)
  }

  /** `duration` in ms. */
  write(x: Exchange, duration: number): void {
    if (!this.#log.enabled('info') || !passes(this.#rules, x)) return
    const { add, without } = this.#rules
    const added = add.length > 0 ? computedValues(add, x) : NOTHING
    const record = this.#makeRecord(hidden(without, add.length, added))
    if (this.#log.enabled('debug')) {
      record.add('connection.id', x.connection.id)
      record.add('request.id', x.id)
    }
    record.append(this.#place(x))
    requestFields(x, duration, record)
    for (const { name, value } of added) record.addAny(name, value)
    this.#log.write('info', record.line)
  }

  /** Logs a connection without HTTP. `fields` in order. */
  writeFields(fields: readonly (readonly [string, string | number])[]): void {
    if (!this.#log.enabled('info')) return
    const record = this.#makeRecord(this.#rules.without)
    for (const [name, value] of fields) record.add(name, value)
    this.#log.write('info', record.line)
  }

  #place(x: Exchange): string {
    const key = x.route ?? x.listener
    if (key === undefined) return ''
    const known = this.#places.get(key)
    if (known !== undefined) return known
    const record = this.#makeRecord(this.#rules.without)
    placeFields(x, record)
    this.#places.set(key, record.line)
    return record.line
  }
}

const NOTHING: readonly ComputedValue[] = []

export function passes({ filter }: Pick<LogRules, 'filter'>, x: Exchange): boolean {
  if (filter === undefined) return true
  const outcome = filter.evaluate(x)
  return outcome.ok && outcome.value === true
}

/** An expanded map may override default fields too, by names known only now. */
export function hidden(
  without: ReadonlySet<string> | undefined,
  declared: number,
  added: readonly ComputedValue[],
): ReadonlySet<string> | undefined {
  return added.length > declared ? new Set([...(without ?? []), ...added.map(field => field.name)]) : without
}

interface LogRecord extends FieldSink {
  readonly line: string
  addAny(name: string, value: unknown): void
  /** Fields that another record of the same format has formatted. */
  append(fields: string): void
}

class TextRecord implements LogRecord {
  line = ''
  readonly #without: ReadonlySet<string> | undefined

  constructor(without: ReadonlySet<string> | undefined) {
    this.#without = without
  }

  add(name: string, value: string | number): void {
    if (this.#without?.has(name)) return
    this.append(`${name}=${typeof value === 'string' ? quoted(value) : value}`)
  }

  addAny(name: string, value: unknown): void {
    this.append(`${quoted(name)}=${typeof value === 'string' ? quoted(value) : shown(value)}`)
  }

  append(fields: string): void {
    this.line = this.line === '' || fields === '' ? this.line + fields : `${this.line} ${fields}`
  }
}

class JsonRecord implements LogRecord {
  line = ''
  readonly #without: ReadonlySet<string> | undefined

  constructor(without: ReadonlySet<string> | undefined) {
    this.#without = without
  }

  add(name: string, value: string | number): void {
    if (this.#without?.has(name)) return
    this.append(`"${name}":${typeof value === 'string' ? JSON.stringify(value) : value}`)
  }

  addAny(name: string, value: unknown): void {
    this.append(`${JSON.stringify(name)}:${JSON.stringify(plain(value))}`)
  }

  append(fields: string): void {
    this.line = this.line === '' || fields === '' ? this.line + fields : `${this.line},${fields}`
  }
}

/** A value in a text line: numbers and booleans as they are, the rest as JSON. */
function shown(value: unknown): string {
  const made = plain(value)
  if (typeof made === 'string') return quoted(made)
  if (typeof made !== 'object') return String(made)
  const json = JSON.stringify(made)
  return JSON_SAFE.test(json) ? json : quoted(json)
}

/** JSON escapes line breaks; these are the remaining characters that a terminal would act on. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not reach the terminal
const JSON_SAFE = /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$/

/** JSON-compatible: bytes in base64, and integers beyond the precision of JSON numbers as text. */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value === undefined) return null
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(plain)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
}

import { LogFilter, RANK, type Threshold } from '../runtime/log-filter.ts'
import type { Clock, Logger, LogLevel } from '../runtime/runtime.ts'

/** Reads and changes what is logged, in RUST_LOG syntax (src/runtime/log-filter.ts). */
export interface LogControl {
  filter(): string
  /**
   * Adds directives to the filter, immediately and for every logger; with `reset`, to the filter that the process
   * started with. Throws LogFilterError and changes nothing if `directives` is invalid.
   */
  change(directives: string, options?: { readonly reset?: boolean }): void | Promise<void>
}

/** The part of a stream that a log needs; process.stderr is one. */
export interface LogSink {
  write(text: string): unknown
  /** Bytes not written yet. */
  readonly writableLength?: number
}

export interface LogOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly format: 'text' | 'json'
  /** RUST_LOG syntax, default `info`. Throws LogFilterError. */
  readonly filter?: string
  /**
   * stderr for the foreground `gwctl run`: stdout is for data, as in every other command. The public system logs to
   * stdout; use `2>&1` to pipe it.
   */
  readonly sink: LogSink
}

/** The log for a module that formats its own records. */
export interface RecordLog {
  readonly format: 'text' | 'json'
  /** Whether a record of this level would be written; if not, none need be built. */
  enabled(level: LogLevel): boolean
  /** `fields`: `k=v k=v` (values by `quoted`), or the members of a JSON object without its braces. */
  write(level: LogLevel, fields: string): void
}

type Fields = Readonly<Record<string, string | number | boolean>>

/** With more unwritten bytes than this, lines are counted instead of buffered. */
const BACKLOG_LIMIT = 8 * 1024 * 1024

/**
 * The log of the process. Text lines have the public system's form, `time⇥level⇥module⇥message⇥k=v k=v`; JSON lines are
 * `{level,time,scope,message,…fields}`. Lines of one turn of the event loop are written together.
 */
export class ProcessLog implements LogControl {
  readonly #sink: LogSink
  readonly #clock: Pick<Clock, 'now'>
  readonly format: 'text' | 'json'
  readonly #line: (time: string, level: LogLevel, module: string, message: string, fields: Fields | undefined) => string
  readonly #initial: LogFilter
  #filter: LogFilter
  #generation = 0
  #pending = ''
  #lost = 0
  #second = Number.NaN
  #secondText = ''

  constructor(options: LogOptions) {
    this.#sink = options.sink
    this.#clock = options.clock
    this.format = options.format
    this.#line = options.format === 'json' ? jsonLine : textLine
    this.#initial = LogFilter.parse('info').with(options.filter ?? '')
    this.#filter = this.#initial
  }

  logger(module: string): Logger {
    return new ModuleLogger(this, module)
  }

  /** The log of one module's finished records. */
  recorder(module: string): RecordLog {
    return new ModuleLogger(this, module)
  }

  filter(): string {
    return this.#filter.toString()
  }

  change(directives: string, options: { readonly reset?: boolean } = {}): void {
    this.#filter = (options.reset === true ? this.#initial : this.#filter).with(directives)
    this.#generation++
  }

  /** Writes everything to the sink now: before the process ends. */
  flush(): void {
    const text = this.#pending
    this.#pending = ''
    if (text !== '') this.#sink.write(text)
  }

  /** Changes whenever the filter does, so that loggers can cache their threshold. */
  get generation(): number {
    return this.#generation
  }

  thresholdOf(module: string): Threshold {
    return this.#filter.thresholdOf(module)
  }

  append(level: LogLevel, module: string, message: string, fields: Fields | undefined): void {
    const time = this.#admit()
    if (time !== undefined) this.#pending += this.#line(time, level, module, message, fields)
  }

  appendRecord(level: LogLevel, module: string, fields: string): void {
    const time = this.#admit()
    if (time === undefined) return
    this.#pending +=
      this.format === 'json'
        ? `{"level":"${level}","time":"${time}","scope":${JSON.stringify(module)},${fields}}\n`
        : `${time}\t${level}\t${module} ${fields}\n`
  }

  /** The timestamp of one more line; undefined if the backlog is full. */
  #admit(): string | undefined {
    if (this.#pending.length + (this.#sink.writableLength ?? 0) > BACKLOG_LIMIT) {
      this.#lost++
      return undefined
    }
    if (this.#pending === '') setImmediate(() => this.flush())
    const time = this.#timestamp()
    if (this.#lost > 0) {
      this.#pending += this.#line(time, 'warn', 'log', 'log lines were lost: nothing reads the log', {
        lines: this.#lost,
      })
      this.#lost = 0
    }
    return time
  }

  /** Formatting a date costs more than the rest of a line, so the part that rarely changes is cached. */
  #timestamp(): string {
    const now = this.#clock.now()
    const second = Math.floor(now / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#secondText = new Date(second * 1000).toISOString().slice(0, 20)
    }
    return `${this.#secondText}${String(Math.floor(now - second * 1000)).padStart(3, '0')}Z`
  }
}

class ModuleLogger implements Logger, RecordLog {
  readonly #log: ProcessLog
  readonly #module: string
  #generation = -1
  #threshold: Threshold = 0

  constructor(log: ProcessLog, module: string) {
    this.#log = log
    this.#module = module
  }

  get format(): 'text' | 'json' {
    return this.#log.format
  }

  enabled(level: LogLevel): boolean {
    if (this.#generation !== this.#log.generation) {
      this.#generation = this.#log.generation
      this.#threshold = this.#log.thresholdOf(this.#module)
    }
    return RANK[level] <= this.#threshold
  }

  log(level: LogLevel, message: string, fields?: Fields): void {
    if (this.enabled(level)) this.#log.append(level, this.#module, message, fields)
  }

  write(level: LogLevel, fields: string): void {
    if (this.enabled(level)) this.#log.appendRecord(level, this.#module, fields)
  }

  child(module: string): Logger {
    return new ModuleLogger(this.#log, this.#module === '' ? module : `${this.#module}::${module}`)
  }
}

function textLine(time: string, level: LogLevel, module: string, message: string, fields: Fields | undefined): string {
  let line = `${time}\t${level}\t${module}`
  if (message !== '') line += `\t${oneLine(message)}`
  let separator = '\t'
  for (const name in fields) {
    const value = fields[name] as string | number | boolean
    line += `${separator}${name}=${typeof value === 'string' ? quoted(value) : value}`
    separator = ' '
  }
  return `${line}\n`
}

function jsonLine(time: string, level: LogLevel, module: string, message: string, fields: Fields | undefined): string {
  const head = { level, time, scope: module }
  return `${JSON.stringify(message === '' ? { ...head, ...fields } : { ...head, message, ...fields })}\n`
}

/** Quoted if a reader could not tell where the value ends, or if a client's bytes could forge a line. */
export function quoted(value: string): string {
  return /^[\x21\x23-\x5b\x5d-\x7e\xa1-\u1fff]+$/.test(value) ? value : escaped(JSON.stringify(value))
}

function oneLine(message: string): string {
  return CONTROL.test(message) ? escaped(message) : message
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not reach the terminal
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const EVERY_CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g

function escaped(text: string): string {
  return text.replace(EVERY_CONTROL, char => {
    if (char === '\n') return '\\n'
    if (char === '\t') return '\\t'
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

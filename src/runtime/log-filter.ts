import { closest } from '../diagnostics/suggest.ts'
import type { LogLevel } from './runtime.ts'

/** The levels that a filter passes: `off` is 0, `error` 1 … `trace` 5. */
export type Threshold = 0 | 1 | 2 | 3 | 4 | 5

export const RANK: Readonly<Record<LogLevel, Threshold>> = { error: 1, warn: 2, info: 3, debug: 4, trace: 5 }
export const LOG_LEVELS = ['off', 'error', 'warn', 'info', 'debug', 'trace'] as const

const LEVEL = LOG_LEVELS.map(name => name.replace(/./g, letter => `[${letter.toUpperCase()}${letter}]`)).join('|')
const DIRECTIVE = `\\s*(([\\w-]+(::[\\w-]+)*\\s*=\\s*)?(${LEVEL})\\s*)?`
/** What `LogFilter.parse` accepts, for JSON Schema. */
export const LOG_FILTER_PATTERN = `^${DIRECTIVE}(,${DIRECTIVE})*$`

/** A filter that is not valid RUST_LOG syntax; the message is meant for its author. */
export class LogFilterError extends Error {
  override name = 'LogFilterError'
}

/**
 * Which modules may log at which level, in RUST_LOG syntax: `info`, `debug,proxy::upstream=trace,mcp=off`. A directive
 * without a module sets the default level; the longest matching module wins. Modules are separated by `::` and may be
 * prefixed with the public system's root: `agentgateway=debug` is a plain `debug`.
 */
export class LogFilter {
  readonly #directives: ReadonlyMap<string, Threshold>

  private constructor(directives: ReadonlyMap<string, Threshold>) {
    this.#directives = directives
  }

  /** Throws LogFilterError. */
  static parse(text: string): LogFilter {
    return new LogFilter(new Map(directivesOf(text)))
  }

  /** This filter with the directives of `text` added, each replacing the one for the same module. Throws LogFilterError. */
  with(text: string): LogFilter {
    return new LogFilter(new Map([...this.#directives, ...directivesOf(text)]))
  }

  thresholdOf(module: string): Threshold {
    for (let name = module; name !== ''; name = parentOf(name)) {
      const found = this.#directives.get(name)
      if (found !== undefined) return found
    }
    return this.#directives.get('') ?? 0
  }

  /** The most specific directive first, the default level last. */
  toString(): string {
    const sorted = [...this.#directives].sort(([a], [b]) => b.length - a.length || (a < b ? -1 : 1))
    return (
      sorted.map(([module, rank]) => (module === '' ? LOG_LEVELS[rank] : `${module}=${LOG_LEVELS[rank]}`)).join(',') ||
      'off'
    )
  }
}

/** What is wrong with a filter; undefined if it is valid. */
export function logFilterProblem(text: string): string | undefined {
  try {
    LogFilter.parse(text)
    return undefined
  } catch (error) {
    if (error instanceof LogFilterError) return error.message
    throw error
  }
}

function* directivesOf(text: string): Generator<[module: string, rank: Threshold]> {
  for (const part of text.split(',')) {
    const directive = part.trim()
    if (directive !== '') yield directiveOf(directive)
  }
}

function directiveOf(directive: string): [string, Threshold] {
  const equals = directive.indexOf('=')
  if (equals < 0) return ['', levelOf(directive, directive)]
  const module = directive.slice(0, equals).trim()
  if (!/^[\w-]+(::[\w-]+)*$/.test(module)) {
    throw new LogFilterError(`\`${directive}\`: write MODULE=LEVEL, for example proxy=debug or proxy::upstream=trace.`)
  }
  return [module.replace(/^(agentgateway|gwctl)(::|$)/, ''), levelOf(directive.slice(equals + 1).trim(), directive)]
}

function levelOf(name: string, directive: string): Threshold {
  const rank = (LOG_LEVELS as readonly string[]).indexOf(name.toLowerCase())
  if (rank >= 0) return rank as Threshold
  const [guess] = closest(name.toLowerCase(), LOG_LEVELS)
  const other = name === directive ? `A module needs a level: ${name}=debug.` : `Levels: ${LOG_LEVELS.join(', ')}.`
  const hint = guess === undefined ? other : `Did you mean ${guess}?`
  const missing = name === '' ? 'there is no level after the equals sign.' : `${name} is not a level. ${hint}`
  throw new LogFilterError(`\`${directive}\`: ${missing}`)
}

function parentOf(module: string): string {
  const end = module.lastIndexOf('::')
  return end < 0 ? '' : module.slice(0, end)
}

import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { Failure } from '../diagnostics/failure.ts'
import { didYouMean } from '../diagnostics/suggest.ts'

/** Where to write results, and in which format; without a path, to stdout. */
export interface OutputTarget<Format extends string = string> {
  readonly format: Format
  readonly path?: string
}

/** `-o FORMAT[=PATH]`: the format is mandatory. Call the result with `default` or `multiple`. */
export function outputFlag<const Format extends string>(formats: readonly Format[]) {
  return Flags.custom<OutputTarget<Format>>({
    char: 'o',
    helpValue: 'FORMAT[=PATH]',
    summary: `One of ${formats.join(', ')}; with =PATH to a file.`,
    parse: async text => parseOutput(text, formats),
    // Help shows the default as text, not as a parsed value.
    defaultHelp: async ({ options }) => (options.default as OutputTarget | undefined)?.format,
  })
}

/** `standard` goes to stdout unless another report does. */
export function outputTargets<Format extends string>(
  asked: readonly OutputTarget<Format>[] = [],
  standard: Format,
): OutputTarget<Format>[] {
  const toStdout = asked.filter(({ path }) => path === undefined)
  if (toStdout.length > 1) {
    const [first, second] = toStdout.map(({ format }) => format)
    throw new Failure('usage', `${first} and ${second} cannot both go to stdout: give one a file, -o ${second}=PATH.`)
  }
  return toStdout.length > 0 ? [...asked] : [...asked, { format: standard }]
}

/** oclif has no flags with optional values: `defaults` has the value of each bare flag. */
export function withOptionalValues(argv: readonly string[], defaults: Readonly<Record<string, string>>): string[] {
  const end = argv.indexOf('--')
  return argv.map((word, i) => ((end < 0 || i < end) && Object.hasOwn(defaults, word) ? defaults[word]! : word))
}

export const jsonFlag = Flags.boolean({ summary: 'The same as -o json.', exclusive: ['output'] })

/** `-f PATH`, repeatable; `-` is stdin. Equivalent to positional paths. */
export const fileFlag = Flags.string({
  char: 'f',
  multiple: true,
  multipleNonGreedy: true,
  helpValue: 'PATH',
  summary: 'File, directory or - for stdin. Repeatable.',
})

/** `[PATH...]`. oclif would wait for stdin if the argument is missing; we read it for `-` only. */
export const pathsArg = Args.string({
  multiple: true,
  ignoreStdin: true,
  description: 'File, directory or - for stdin.',
})

/** `250ms`, `30s`, `5m`, `1h` → milliseconds. */
export const durationFlag = Flags.custom<number>({
  helpValue: 'DURATION',
  parse: async text => parseDuration(text),
})

/** `FORMAT[=PATH]`. Throws a Failure `usage`. */
export function parseOutput<Format extends string>(text: string, formats: readonly Format[]): OutputTarget<Format> {
  const [, name, path] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? []
  const format = formats.find(known => known === name)
  if (format === undefined) {
    const guess = didYouMean(name ?? '', formats)
    throw new Failure('usage', `unknown format ${name}${guess === undefined ? '.' : `: ${guess}`}`, {
      help: `Formats: ${formats.join(', ')}.`,
    })
  }
  if (path === '') throw new Failure('usage', `${text} names no file after the equals sign.`)
  // `-` is stdout here, as it is stdin for input files.
  return path === undefined || path === '-' ? { format } : { format, path }
}

/** Timers beyond 2³¹ ms fire at once. */
const LONGEST = 500 * 3_600_000

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const

function parseDuration(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? []
  if (amount === undefined) throw new Failure('usage', `${text} is not a duration. Write 250ms, 30s, 5m or 1h.`)
  const ms = Number(amount) * UNITS[unit as keyof typeof UNITS]
  if (ms > LONGEST) throw new Failure('usage', `${text} is too long: at most 500h.`)
  return ms
}

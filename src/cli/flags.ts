import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { Failure } from '../diagnostics/failure.ts'
import { didYouMean } from '../diagnostics/suggest.ts'

/** Where results go and in which form; without a path, to stdout. */
export interface OutputTarget<Format extends string = string> {
  readonly format: Format
  readonly path?: string
}

/** `-o FORMAT[=PATH]`: always a format, never a bare path. Call the result with `default` or `multiple`. */
export function outputFlag<const Format extends string>(formats: readonly Format[]) {
  return Flags.custom<OutputTarget<Format>>({
    char: 'o',
    helpValue: 'FORMAT[=PATH]',
    summary: `One of ${formats.join(', ')}; with =PATH into a file.`,
    parse: async text => parseOutput(text, formats),
    // Help shows the default as text, not as the value it stands for.
    defaultHelp: async ({ options }) => (options.default as OutputTarget | undefined)?.format,
  })
}

/** Stdout gets `standard` unless another report goes there. */
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

/** oclif knows no flags with a value that may be missing: `defaults` says what each of them stands for. */
export function withOptionalValues(argv: readonly string[], defaults: Readonly<Record<string, string>>): string[] {
  const end = argv.indexOf('--')
  return argv.map((word, i) => ((end < 0 || i < end) && Object.hasOwn(defaults, word) ? defaults[word]! : word))
}

export const jsonFlag = Flags.boolean({ summary: 'The same as -o json.', exclusive: ['output'] })

/** `-f PATH`, repeatable; `-` is stdin. Positional paths mean the same. */
export const fileFlag = Flags.string({
  char: 'f',
  multiple: true,
  multipleNonGreedy: true,
  helpValue: 'PATH',
  summary: 'File, directory or - for stdin. Repeatable.',
})

/** `[PATH...]`. oclif would wait for stdin when the argument is missing; ours is read for `-` only. */
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
  // `-` is stdout, as it is stdin where a file is read.
  return path === undefined || path === '-' ? { format } : { format, path }
}

/** A timer that is to wait for more than 2³¹ ms does not wait at all. */
const LONGEST = 500 * 3_600_000

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const

function parseDuration(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? []
  if (amount === undefined) throw new Failure('usage', `${text} is not a duration. Write 250ms, 30s, 5m or 1h.`)
  const ms = Number(amount) * UNITS[unit as keyof typeof UNITS]
  if (ms > LONGEST) throw new Failure('usage', `${text} is too long: at most 500h.`)
  return ms
}

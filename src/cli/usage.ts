import { Failure } from '../diagnostics/failure.ts'
import { didYouMean } from '../diagnostics/suggest.ts'
import type { CommandClass } from './commands.ts'

type CommandShape = Pick<CommandClass, 'args' | 'flags' | 'baseFlags'>

/** From a command's class, or its entry in the manifest. */
interface UsageShape {
  readonly args?: Readonly<Record<string, { readonly required?: boolean; readonly multiple?: boolean }>>
  readonly flags?: Readonly<
    Record<
      string,
      { readonly required?: boolean; readonly char?: string; readonly helpValue?: string | readonly string[] }
    >
  >
}

/** Converts an error of oclif's parser to a usage Failure with help; other errors are returned unchanged. */
export function asUsageFailure(error: unknown, id: string, command: CommandShape): unknown {
  if (!(error instanceof Error)) return error
  if (error instanceof Failure && error.kind !== 'usage') return error
  if (!(error instanceof Failure) && !('oclif' in error)) return error
  const usage = `Usage: gwctl ${id} ${usageWords(command)}\nSee gwctl ${id} --help.`
  const help = error instanceof Failure && error.help !== undefined ? `${error.help}\n${usage}` : usage
  if ('flags' in error && Array.isArray(error.flags)) {
    return new Failure('usage', unknownFlags(error.flags.map(String), command), { help, cause: error })
  }
  if ('args' in error && Array.isArray(error.args)) {
    return new Failure('usage', wrongArguments(error.args, command), { help, cause: error })
  }
  return new Failure('usage', plainMessage(error.message), { help, cause: error })
}

export function unknownCommand(id: string, commands: readonly string[]): Failure {
  if (id.startsWith('-')) {
    return new Failure('usage', `unknown flag ${id}.`, {
      help: 'Flags of a command come after it.\nSee gwctl --help.',
    })
  }
  return new Failure('usage', `unknown command ${id}${guess(id, commands)}`, {
    help: `Commands: ${commands.join(', ')}\nSee gwctl --help.`,
  })
}

/** `-f PATH [REQUEST...] [flags]`: a command's synopsis. */
export function usageWords({ args, flags }: UsageShape): string {
  const needed = Object.entries(flags ?? {}).flatMap(([name, { required, char, helpValue }]) => {
    return required ? [`${char === undefined ? `--${name}` : `-${char}`} ${helpValue ?? 'VALUE'}`] : []
  })
  const given = Object.entries(args ?? {}).map(([name, { multiple, required }]) => {
    const shown = multiple ? `${name.toUpperCase()}...` : name.toUpperCase()
    return required ? shown : `[${shown}]`
  })
  return [...needed, ...given, '[flags]'].join(' ')
}

function unknownFlags(names: readonly string[], command: CommandShape): string {
  const known = Object.keys({ ...command.flags, ...command.baseFlags, help: true }).map(name => `--${name}`)
  return names.map(name => `unknown flag ${name}${name.startsWith('--') ? guess(name, known) : '.'}`).join(' ')
}

/** Unexpected arguments are strings, missing ones are their declarations. */
function wrongArguments(args: readonly unknown[], command: CommandShape): string {
  const names = args.map(arg => (typeof arg === 'string' ? arg : argumentName(arg)))
  const list = names.join(' ')
  const noun = names.length === 1 ? 'argument' : 'arguments'
  if (typeof args[0] !== 'string') return `missing ${noun}: ${list}.`
  const meant = names.flatMap(word => flagOf(word, command) ?? [])
  return `unexpected ${noun}: ${list}${meant.length === 0 ? '.' : `: did you mean \`${meant.join(' ')}\`?`}`
}

/** The flag that accepts this word as its value: one of its options, or `NAME=VALUE` if that is its format. */
function flagOf(word: string, { flags }: CommandShape): string | undefined {
  const takes = Object.entries(flags ?? {}).filter(
    ([, flag]) =>
      flag.type === 'option' &&
      (flag.options?.includes(word) || (/^[A-Z]+=[A-Z]+$/.test(String(flag.helpValue)) && /^[^=]+=[^=]+$/.test(word))),
  )
  const [only, other] = takes
  return only === undefined || other !== undefined ? undefined : `--${only[0]} ${word}`
}

function argumentName(arg: unknown): string {
  return typeof arg === 'object' && arg !== null && 'name' in arg ? String(arg.name).toUpperCase() : '?'
}

/** oclif wraps the parser's message in lines that are less helpful than ours. */
function plainMessage(message: string): string {
  const choice = /^Expected (--[\w-]+)=(.*) to be one of: ([^\n]*)/.exec(message)
  if (choice) {
    const [, flag, given = '', list = ''] = choice
    return `${flag} takes one of ${list}, not ${given}${guess(given, list.split(', '))}`
  }
  const value = /^Expected (\S*) to be one of: ([^\n]*)/.exec(message)
  if (value) {
    const [, given = '', list = ''] = value
    return `${given} is not one of ${list}${guess(given, list.split(', '))}`
  }
  return REWORDED.reduce((text, [theirs, ours]) => text.replace(theirs, ours), message)
}

const REWORDED: readonly (readonly [theirs: RegExp, ours: string])[] = [
  [/\nSee more help with --help$/, ''],
  [/(--[\w-]+)(?:=.*)? cannot also be provided when using (--[\w-]+)/g, '$1 does not go with $2.'],
  [/Expected an integer greater than or equal to (\S+) but received: (.*)/g, '$2 is too small: at least $1.'],
  [/Expected an integer less than or equal to (\S+) but received: (.*)/g, '$2 is too large: at most $1.'],
  [/Expected an integer but received: (.*)/g, '$1 is not an integer.'],
  [/All of the following must be provided when using (--[\w-]+): (.*)/g, '$1 is for use with $2 only.'],
  [/^Parsing (--[\w-]+) \n\t/, '$1: '],
  [/^The following errors? occurred:\n\s*/, ''],
  [/\n\s*/g, '; '],
  [/^Flag (--[\w-]+) expects a value$/, '$1 needs a value.'],
  [/Missing required flag (\w+)/g, 'missing flag: --$1.'],
]

function guess(word: string, candidates: readonly string[]): string {
  const question = didYouMean(word, candidates)
  return question === undefined ? '.' : `: ${question}`
}

import { string as stringArg } from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { Failure } from '../diagnostics/failure.ts'
import { adminFlags } from './admin-flags.ts'
import { outputFlag } from './flags.ts'

const SIDE = 'A file, a directory of resources, a saved dump, live, git:REVISION:PATH, or - for stdin.'

export const diffArgs = {
  before: stringArg({ ignoreStdin: true, description: SIDE }),
  after: stringArg({
    ignoreStdin: true,
    description: 'The same. git:REVISION alone uses the path of the other side.',
  }),
}

/** All flags of `diff`. */
export const diffFlags = {
  file: Flags.string({
    char: 'f',
    multiple: true,
    multipleNonGreedy: true,
    helpValue: 'SIDE',
    summary: 'A side, in place of an argument. Repeatable.',
  }),
  output: outputFlag(['text', 'json', 'markdown', 'github'])({ default: { format: 'text' } }),
  structural: Flags.boolean({ summary: 'Compare the objects only; run no requests.' }),
  requests: Flags.string({
    helpValue: 'PATH',
    summary: 'Run recorded requests instead: events of `gwctl trace --raw`, or HAR; - for stdin.',
    exclusive: ['structural'],
  }),
  limit: Flags.integer({
    min: 1,
    helpValue: 'N',
    summary: 'Try at most N requests; 5000 when unset.',
    exclusive: ['structural', 'requests'],
  }),
  partial: Flags.boolean({ summary: 'Assume that missing resources exist elsewhere.' }),
  ...adminFlags,
}

/** The two sides, from arguments or `-f`. Throws a Failure `usage`. */
export function sidesOf(words: readonly (string | undefined)[], files: readonly string[] = []): [string, string] {
  const [before, after, ...others] = [...words, ...files].filter(each => each !== undefined)
  if (before !== undefined && after !== undefined && others.length === 0) return [before, after]
  const count = before === undefined ? 'none is' : after === undefined ? 'one is' : `${others.length + 2} are`
  throw new Failure('usage', `two sides are compared, and ${count} named.`, {
    help: 'For example: gwctl diff config.yaml new.yaml',
  })
}

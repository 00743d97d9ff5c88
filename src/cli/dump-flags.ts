import { string as stringArg } from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { InferredFlags } from '@oclif/core/interfaces'
import { Failure } from '../diagnostics/failure.ts'
import { adminFlags, allPodsFlag } from './admin-flags.ts'
import { leadingFile } from './file-words.ts'
import { outputFlag } from './flags.ts'

export const dumpArgs = {
  view: stringArg({
    multiple: true,
    ignoreStdin: true,
    description:
      'One of all, binds, listeners, routes, policies, backends, models, mcp, summary; all when unset. A file name here is read as with -f.',
  }),
}

/** All flags of `dump`. */
export const dumpFlags = {
  file: Flags.string({
    char: 'f',
    helpValue: 'PATH',
    summary: 'A saved dump instead of a running gateway; - for stdin.',
    exclusive: ['admin', 'local', 'kube'],
  }),
  config: Flags.string({
    helpValue: 'PATH',
    summary: 'What `gwctl run` would load from a configuration instead: a file, a directory or - for stdin.',
    exclusive: ['file', 'admin', 'local', 'kube'],
  }),
  output: outputFlag(['yaml', 'json', 'jsonl', 'table', 'wide', 'dot'])(),
  'show-origin': Flags.boolean({ summary: 'Add the file and line that define each object.' }),
  effective: Flags.string({
    helpValue: 'ROUTE',
    summary: 'The policies in force on one route, and which of several wins.',
    exclusive: ['unused'],
  }),
  select: Flags.string({
    helpValue: 'CEL',
    summary: 'Only objects of a view for which this is true; its variables are the fields that -o json prints.',
    exclusive: ['effective'],
  }),
  unused: Flags.boolean({ summary: 'Unreferenced objects, and policies without effect.' }),
  ...adminFlags,
  'all-pods': allPodsFlag(),
}

export type DumpFlags = InferredFlags<typeof dumpFlags>

/** Interprets the arguments: a view, a file, or both. Throws a Failure `usage`. */
export function dumpWords(
  words: readonly string[],
  { file: flag, config, admin, local, kube }: DumpFlags,
  views: readonly string[],
  cwd: string,
): { readonly view: string | undefined; readonly file: string | undefined } {
  const [first, ...others] = words
  const isView = first !== undefined && views.includes(first)
  const [file, rest] = leadingFile(isView ? others : words, cwd)
  const view = isView ? first : rest[0]
  const unexpected = isView ? rest[0] : rest[1]
  if (unexpected !== undefined) throw new Failure('usage', `unexpected argument: ${unexpected}.`)
  const source = flag ?? config ?? admin ?? kube ?? (local ? '--local' : undefined)
  if (file !== undefined && source !== undefined) {
    throw new Failure('usage', `one source is enough: there are ${source} and ${file}.`)
  }
  return { view, file: file ?? flag }
}

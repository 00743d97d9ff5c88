import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Failure } from '../diagnostics/failure.ts'

/** The command's file, from `-f` or an argument. Throws a Failure `usage` if there is none, or a second one. */
export function resolveFile(flag: string | undefined, words: readonly string[], example: string): string {
  const [file, other] = flag === undefined ? words : [flag, ...words]
  if (file === undefined) throw new Failure('usage', 'no file is named.', { help: `For example: ${example}` })
  if (other === undefined) return file
  throw new Failure('usage', `one file is enough: there are ${file} and ${other}.`, {
    help: 'A directory of resources is one, too.',
  })
}

/** Takes a file off the front of arguments that mean something else. Undefined if there is no such file. */
export function leadingFile(
  words: readonly string[],
  cwd: string,
): [file: string | undefined, rest: readonly string[]] {
  const [first, ...rest] = words
  if (first === '-' || (first !== undefined && isThere(resolve(cwd, first)))) return [first, rest]
  return [undefined, words]
}

function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}

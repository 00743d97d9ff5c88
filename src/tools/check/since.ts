import { basename, dirname, resolve } from 'node:path'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { checkRevision, runGit } from '../git.ts'

/** First and last line, 1-based. */
type Lines = readonly [first: number, last: number]

const EXAMPLE = 'For example: --since origin/main.'

/** The diagnostics on lines that differ from a git revision; all of those in files that git does not know. */
export async function changedSince(
  revision: string,
  diagnostics: readonly Diagnostic[],
  cwd: string,
): Promise<readonly Diagnostic[]> {
  await checkRevision(cwd, revision, EXAMPLE)
  const changed = new Map<string, readonly Lines[] | 'all'>()
  for (const { file } of diagnostics) {
    if (!changed.has(file)) changed.set(file, await changedLines(revision, resolve(cwd, file)))
  }
  return diagnostics.filter(({ file, range }) => {
    const lines = changed.get(file)
    return lines === 'all' || lines?.some(([first, last]) => range.start.line <= last && range.end.line >= first)
  })
}

async function changedLines(revision: string, path: string): Promise<readonly Lines[] | 'all'> {
  const folder = dirname(path)
  const name = basename(path)
  const known = await git(folder, ['ls-files', '--', literal(name)], revision)
  if (known.trim() === '') return 'all'
  const options = ['--unified=0', '--no-color', '--no-ext-diff', '--no-textconv', '--text', '--ignore-cr-at-eol']
  const patch = await git(folder, ['diff', ...options, '--end-of-options', revision, '--', literal(name)], revision)
  return [...patch.matchAll(/^@@ -\S+ \+(\d+)(?:,(\d+))? @@/gm)].map(([, start, count]): Lines => {
    const first = Number(start)
    // Where lines were only taken away, what stands around the gap has changed.
    return count === '0' ? [first, first + 1] : [first, first + Number(count ?? 1) - 1]
  })
}

/** A name is no pattern, whatever is in it. */
function literal(name: string): string {
  return `:(literal)${name}`
}

async function git(folder: string, args: readonly string[], revision: string): Promise<string> {
  const failed = (cause: unknown) =>
    new Failure('usage', `git does not know the revision ${revision}.`, { cause, help: EXAMPLE })
  return (await runGit(folder, args, failed)).toString()
}

import { realpathSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { readText } from '../../diagnostics/source-text.ts'
import { readIfRegular } from '../../files/read-file.ts'
import { checkRevision, runGit } from '../input/git.ts'
import { diffLines } from './line-diff.ts'

/** First and last line, 1-based. */
type Lines = readonly [first: number, last: number]

const EXAMPLE = 'For example: --since origin/main.'

/** The diagnostics on lines that changed since a git revision, and all in files that git does not know. */
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

/**
 * Git supplies the old text, and lines are compared here: when git compares files, it runs programs that a repository
 * configures.
 */
async function changedLines(revision: string, path: string): Promise<readonly Lines[] | 'all'> {
  const bytes = readIfRegular(path)
  // A link is compared by its target, as it was checked.
  const file = bytes === undefined ? undefined : realpathSync(path)
  const old = file === undefined ? undefined : await blobAt(revision, dirname(file), basename(file))
  if (bytes === undefined || old === undefined) return 'all'
  const [before, now] = [linesOf(old), linesOf(bytes)]
  const changed: Lines[] = []
  let line = 1
  for (const { side } of diffLines(before, now)) {
    // Where lines were only removed, the lines around the gap count as changed.
    if (side === 'left') changed.push([line - 1, line])
    if (side === 'right') changed.push([line, line])
    if (side !== 'left') line++
  }
  return changed
}

/** Undefined for a file that did not exist. */
async function blobAt(revision: string, folder: string, name: string): Promise<Buffer | undefined> {
  const failed = (cause: unknown) =>
    new Failure('usage', `git cannot read ${name} at ${revision}.`, { cause, help: EXAMPLE })
  const listed = await runGit(folder, ['--literal-pathspecs', 'ls-tree', '-z', revision, '--', name], failed)
  const [, id] = /^\d+ blob (\w+)\t/.exec(listed.toString()) ?? []
  return id === undefined ? undefined : runGit(folder, ['cat-file', 'blob', id], failed)
}

/** Git may store other line breaks than the working tree has. */
function linesOf(bytes: Buffer): string[] {
  const read = readText(bytes)
  return ('text' in read ? read.text : bytes.toString('latin1')).split(/\r?\n/)
}

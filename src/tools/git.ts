import { type ExecFileException, execFile } from 'node:child_process'
import { Failure } from '../diagnostics/failure.ts'

export const GIT_LIMITS = { maxBuffer: 256 * 1024 * 1024, windowsHide: true } as const

/**
 * What git prints when it runs in a folder. Throws a Failure `usage` where there is no git or no repository, and what
 * `failed` makes of any other failure.
 */
export function runGit(
  folder: string,
  args: readonly string[],
  failed: (cause: unknown) => Failure,
  input?: string,
): Promise<Buffer> {
  return new Promise((resolved, rejected) => {
    // Not `promisify`: in the bundle `execFile` loads late, and so lacks the property that tells how to do that.
    const child = execFile(
      'git',
      ['-C', folder, ...args],
      { ...GIT_LIMITS, encoding: 'buffer' },
      (error, out, stderr) => {
        if (error === null) resolved(out)
        else rejected(missing(error, stderr.toString(), folder) ?? failed(error))
      },
    )
    // Where git fails at once, its answer says why.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}

/** Throws a Failure `usage` for what is no revision in the repository of a folder. */
export async function checkRevision(folder: string, revision: string, help: string): Promise<void> {
  const unknown = (cause?: unknown) =>
    new Failure('usage', `git does not know the revision ${revision}.`, { cause, help })
  if (revision === '' || revision.startsWith('-')) throw unknown()
  await runGit(folder, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`], unknown)
}

function missing(error: ExecFileException, stderr: string, folder: string): Failure | undefined {
  if (error.code === 'ENOENT') {
    return new Failure('usage', 'revisions are read with git, and it is not installed.', { cause: error })
  }
  if (!stderr.includes('not a git repository')) return undefined
  return new Failure('usage', `${folder} is in no git repository.`, { cause: error })
}

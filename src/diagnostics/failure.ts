import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { visible } from './visible.ts'

/** Why a command failed. Each kind has one exit code (src/cli/exit-codes.ts). */
export type FailureKind = 'usage' | 'input' | 'unreachable' | 'timeout' | 'interrupted' | 'terminated'

/**
 * An expected failure: printed as one line with its remedy, never with a stack. Any other error that escapes a command
 * is a bug. A mistake inside a configuration is not a Failure but a Finding.
 */
export class Failure extends Error {
  readonly kind: FailureKind
  readonly help: string | undefined

  /** `message` names the thing and the place, `help` the remedy; both are sentences without a final line break. */
  constructor(kind: FailureKind, message: string, options: { readonly help?: string; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'Failure'
    this.kind = kind
    this.help = options.help
  }
}

/** For read errors of the system, quoting it where that is clearest. `name` is phrased for use in a sentence. */
export function cannotRead(name: string, error: unknown): Failure {
  const { code = '', message } = error as NodeJS.ErrnoException
  return new Failure('input', `cannot read ${visible(name)}: ${WHY_NOT_READ[code] ?? WHY[code] ?? message}.`, {
    cause: error,
  })
}

/** For write errors of the system, quoting it where that is clearest. */
export function cannotWrite(path: string, error: unknown): Failure {
  const { code = '', message, path: full = path } = error as NodeJS.ErrnoException
  const why = code === 'ENOENT' ? noPlaceFor(path, full) : (WHY[code] ?? message)
  return new Failure('input', `cannot write ${visible(path)}: ${why}.`, { cause: error })
}

/** Some directories accept no new files, such as those in /proc, and a link may be dangling. */
function noPlaceFor(path: string, full: string): string {
  return existsSync(dirname(full)) ? 'no file can be made there' : `there is no directory ${dirname(path)}`
}

const WHY_NOT_READ: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
}

const WHY: Readonly<Record<string, string>> = {
  EISDIR: 'it is a directory',
  ENOTDIR: 'the part before the last / is not a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ELOOP: 'its links lead in a circle',
  ENAMETOOLONG: 'its name is too long',
}

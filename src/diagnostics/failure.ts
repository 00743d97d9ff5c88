/** Why a command could not do its work. Each kind has one exit code (src/cli/exit-codes.ts). */
export type FailureKind = 'usage' | 'input' | 'unreachable' | 'timeout' | 'interrupted' | 'terminated'

/**
 * An expected reason to stop: printed as one line with its way out, never with a stack. Any other error that leaves a
 * command counts as a bug of ours. A mistake inside a configuration is no Failure but a Finding.
 */
export class Failure extends Error {
  readonly kind: FailureKind
  readonly help: string | undefined

  /** `message` names the thing and the place, `help` the way out; both are sentences without a final line break. */
  constructor(kind: FailureKind, message: string, options: { readonly help?: string; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'Failure'
    this.kind = kind
    this.help = options.help
  }
}

/** For what the system refuses to write; its own words where they are the clearest. */
export function cannotWrite(path: string, error: unknown): Failure {
  const { code = '', message } = error as NodeJS.ErrnoException
  const why = WHY[code]
  return new Failure('input', `cannot write ${path}: ${why?.(path) ?? message}.`, { cause: error })
}

const WHY: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: path => `there is no folder ${path.replace(/\/?[^/]*$/, '') || '/'}`,
  ENOTDIR: path => `there is no folder ${path.replace(/\/?[^/]*$/, '') || '/'}`,
  EISDIR: () => 'it is a folder',
  EACCES: () => 'this user may not',
  EPERM: () => 'this user may not',
  EROFS: () => 'the file system is read-only',
  ENOSPC: () => 'the disk is full',
}

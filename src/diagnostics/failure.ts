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

import { GatewayError } from '../../../http/errors.ts'
import type { TargetFailure } from '../connection.ts'

/** What a user is told who has to sign in at a target first. */
export interface Need {
  readonly target: string
  /** Works once, and for this user only. */
  readonly link: string
  /** Unique and opaque. */
  readonly id: string
}

/** The user of a call has no token for the target. The message, which is logged, does not have the link. */
export class SignInNeeded extends GatewayError {
  readonly need: Need

  constructor(need: Need) {
    super('mcp', { status: 401, detail: `the user has not signed in to \`${need.target}\`` })
    this.need = need
  }

  get failure(): TargetFailure {
    return { message: this.message, down: false, need: this.need }
  }
}

/** Why a call was not delivered. */
export function failureOf(error: Error): TargetFailure {
  return error instanceof SignInNeeded ? error.failure : { message: error.message, down: false, unreachable: true }
}

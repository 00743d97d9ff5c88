import { GrpcFailure } from '../../calls/grpc.ts'
import { GatewayError } from '../../http/errors.ts'

/** Statuses that say that nobody has decided. Others are answers: that of a service that does not like the request. */
const UNDECIDED: ReadonlySet<number> = new Set([1, 2, 4, 10, 12, 13, 14])

/**
 * Whether a service has given no answer. Where it has, and the answer is a refusal or none that can be read, clients have
 * a part in it: no failure mode lets such a request pass.
 */
export function isUnanswered(error: unknown): boolean {
  return error instanceof GrpcFailure ? UNDECIDED.has(error.status) : error instanceof GatewayError
}

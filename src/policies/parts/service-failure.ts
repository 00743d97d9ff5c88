import { GrpcFailure } from '../../calls/grpc.ts'
import { GatewayError } from '../../http/errors.ts'

/** Statuses that mean there was no decision. Others are answers: the service rejects the request. */
const UNDECIDED: ReadonlySet<number> = new Set([1, 2, 4, 10, 12, 13, 14])

/**
 * Whether a service gave no answer. If it did, and the answer is a refusal or invalid, a client may have caused it: no
 * failure mode lets such a request pass.
 */
export function isUnanswered(error: unknown): boolean {
  return error instanceof GrpcFailure ? UNDECIDED.has(error.status) : error instanceof GatewayError
}

import { Failure } from '../../diagnostics/failure.ts'
import type { AdminServer } from './admin-client.ts'

export interface Asked<T> {
  /** In the order of the servers, without those that failed. */
  readonly answers: readonly { readonly admin: AdminServer; readonly value: T }[]
  /** The combined reasons why some failed; thrown once the other answers have been shown. */
  readonly failure: Failure | undefined
}

/** Maximum number of concurrent requests. */
const AT_ONCE = 8

/** Asks all servers, even if some fail. Throws if all fail. */
export async function askEach<T>(
  servers: readonly AdminServer[],
  ask: (admin: AdminServer) => Promise<T>,
): Promise<Asked<T>> {
  const results: (PromiseSettledResult<T> | undefined)[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let i = next++; i < servers.length; i = next++) [results[i]] = await Promise.allSettled([ask(servers[i]!)])
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  const answers = results.flatMap((result, i) =>
    result?.status === 'fulfilled' ? [{ admin: servers[i]!, value: result.value }] : [],
  )
  const failure = combined(results.flatMap(result => (result?.status === 'rejected' ? [result.reason] : [])))
  if (answers.length === 0 && failure) throw failure
  return { answers, failure }
}

/** Anything but a Failure is a bug of ours, and rethrown at once. */
function combined(errors: readonly unknown[]): Failure | undefined {
  const failures = errors.map(error => {
    if (error instanceof Failure) return error
    throw error
  })
  const [first, second] = failures
  if (first === undefined || second === undefined) return first
  const message = failures.map(each => each.message).join('\n')
  return new Failure(first.kind, message, { ...(first.help === undefined ? {} : { help: first.help }), cause: first })
}

import type { Attempt, Exchange, Reply } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import { handlerAround, type ResponseHandler } from '../../http/transport.ts'
import type { Hooks } from '../../policies/policy.ts'

/**
 * Runs the policies of one model or provider around a call to it. `call` takes what it needs of the request before it
 * returns; afterwards the request is again as it was, for the next one to be asked.
 */
export async function callAround(
  policies: readonly Hooks[],
  x: Exchange,
  attempt: Attempt,
  on: ResponseHandler,
  call: (on: ResponseHandler) => void,
): Promise<void> {
  const received = { ...x.request, headers: x.request.headers.copy() }
  const reply = await runPolicies(policies, x, attempt)
  if (reply) answer(reply, on)
  else call(withResponsePolicies(policies, x, on))
  Object.assign(x.request, received)
}

/** Sends a reply that was made here. */
export function answer(reply: Reply, on: ResponseHandler): void {
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : (reply.body ?? Buffer.alloc(0))
  const headers = new HeaderList([...reply.headers], true)
  headers.set('content-length', String(body.length))
  const client = on.head(reply.status, headers)
  if (body.length > 0) client.write(body)
  client.end()
}

async function runPolicies(policies: readonly Hooks[], x: Exchange, attempt: Attempt): Promise<Reply | undefined> {
  for (const hooks of policies) {
    const reply = (await hooks.request?.(x)) ?? (await hooks.attempt?.(x, attempt))
    if (reply) return reply
  }
  return undefined
}

function withResponsePolicies(policies: readonly Hooks[], x: Exchange, on: ResponseHandler): ResponseHandler {
  const changes = policies.flatMap(hooks => (hooks.response ? [hooks.response] : []))
  if (changes.length === 0) return on
  return handlerAround(on, {
    head(status, headers) {
      x.response = { status, headers }
      for (const change of changes) void change(x)
      return on.head(x.response.status, x.response.headers)
    },
  })
}

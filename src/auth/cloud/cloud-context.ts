import { callWhole, type WholeReply } from '../../calls/dispatch.ts'
import { GatewayError } from '../../http/errors.ts'
import { HeaderList } from '../../http/headers.ts'
import type { Target } from '../../http/transport.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { TraceScope } from '../../trace/trace-event.ts'
import { oauthErrorIn } from './token-reply.ts'

/** Dependencies of fetching cloud credentials. */
export interface CloudContext {
  readonly runtime: Runtime
  readonly env: Readonly<Record<string, string | undefined>>
  /** The trace of the request that is waiting. */
  readonly trace?: TraceScope | undefined
}

export interface CloudCall {
  readonly method: string
  readonly url: string
  /** Name, value, name, value. */
  readonly fields?: readonly string[]
  readonly body?: string
  /** ms; 5000 if unset. */
  readonly timeout?: number
}

/** bytes. */
const MAX_REPLY = 256 * 1024
/** ms. */
const TIMEOUT = 5000

/**
 * A call to a metadata or token service. Throws for any status but 200; the error names the service, never a
 * credential.
 */
export async function callCloud({ runtime, trace }: CloudContext, call: CloudCall): Promise<WholeReply> {
  const url = new URL(call.url)
  const { method, fields = [], body, timeout = TIMEOUT } = call
  const headers = new HeaderList([...fields], true)
  const request = { method, path: url.pathname + url.search, authority: url.host, headers, timeout }
  const traced = trace?.call({ target: url.host, purpose: 'credentials' })
  const reply = await callWhole(
    runtime,
    targetOf(url, timeout),
    { ...request, body: body === undefined ? undefined : Buffer.from(body) },
    MAX_REPLY,
  ).catch((error: unknown) => {
    const said = error instanceof GatewayError ? error.message : 'unknown failure'
    traced?.end({ target: url.host, error: said })
    throw new Error(`${url.host}: ${said}`)
  })
  traced?.end({ target: url.host, status: reply.status })
  if (reply.status !== 200) throw new Error(`${url.host} answered ${reply.status}${reasonIn(reply)}`)
  return reply
}

function reasonIn(reply: WholeReply): string {
  const code = oauthErrorIn(reply)
  return code === undefined ? '' : ` (${code})`
}

function targetOf(url: URL, connectTimeout: number): Target {
  const secure = url.protocol === 'https:'
  return {
    key: `cloud ${url.origin}`,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    connectTimeout,
    named: true,
    ...(secure ? { tls: {} } : {}),
  }
}

import { callWhole, type WholeReply } from '../../calls/dispatch.ts'
import { HeaderList } from '../../http/headers.ts'
import type { Target } from '../../http/transport.ts'
import type { Runtime } from '../../runtime/runtime.ts'

/** What asking a cloud for credentials needs. */
export interface CloudContext {
  readonly runtime: Runtime
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface CloudCall {
  readonly method: string
  readonly url: string
  /** Name, value, name, value. */
  readonly fields?: readonly string[]
  readonly body?: string
  /** ms; 5000 when unset. */
  readonly timeout?: number
}

/** bytes. */
const MAX_REPLY = 256 * 1024
/** ms. */
const TIMEOUT = 5000

/** A call to a metadata or token service. Throws for any status but 200; the error names the service, no credential. */
export async function callCloud({ runtime }: CloudContext, call: CloudCall): Promise<WholeReply> {
  const url = new URL(call.url)
  const { method, fields = [], body, timeout = TIMEOUT } = call
  const headers = new HeaderList([...fields], true)
  const request = { method, path: url.pathname + url.search, authority: url.host, headers, timeout }
  const reply = await callWhole(
    runtime,
    targetOf(url, timeout),
    { ...request, body: body === undefined ? undefined : Buffer.from(body) },
    MAX_REPLY,
  )
  if (reply.status !== 200) throw new Error(`${url.host} answered ${reply.status}`)
  return reply
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

import type { HeadSnapshot } from '../../trace/trace-event.ts'
import type { DryRequest } from '../dry-run/dry-run.ts'
import type { ReadEvent } from './events.ts'
import type { RequestTrace } from './state.ts'

/** What a trace contains of the request itself. */
export interface RecordedRequest extends DryRequest {
  /** Headers whose values are not in the trace: credentials, except the one in `jwt` or `apiKey`. */
  readonly redacted: readonly string[]
  /** Size of the body, as far as anything read it; if `body` is unset, it was too long for the trace. */
  readonly bodyBytes: number
  /** Whether the headers announce a body. */
  readonly sentBody: boolean
  /** The status of the backend, if it responded. */
  readonly upstreamStatus: number | undefined
}

/** The request as it came from the client. */
export function recordedRequest({ method, url, steps }: RequestTrace): RecordedRequest {
  const messages = steps.map(({ event }) => event.message)
  const first = messages.find(message => message.type === 'snapshot')
  const body = messages.find(message => message.type === 'body')
  const listener = messages.find(message => message.type === 'listener')
  const answer = messages.findLast(message => message.type === 'callEnd')
  const { jwt, apiKey } = callerOf(messages)
  const fields = first?.type === 'snapshot' && first.state.status === undefined ? first.state.headers : []
  const port = listener?.type === 'listener' ? Number(/^bind\/(\d+)$/.exec(listener.bind)?.[1]) : Number.NaN
  return {
    method,
    url,
    // The length follows from the body, and the connection is a new one.
    headers: fields.filter(([name, value]) => value !== '<redacted>' && !/^(content-length|connection)$/i.test(name)),
    body: body?.type === 'body' && !body.truncated ? Buffer.from(body.base64, 'base64') : undefined,
    ...(jwt && { jwt: withoutTimes(jwt) }),
    ...(apiKey && { apiKey }),
    source: sourceOf(messages.find(message => message.type === 'requestStarted')?.source),
    bodyBytes: body?.type === 'body' ? body.bytes : 0,
    sentBody: fields.some(([name, value]) => {
      return /^transfer-encoding$/i.test(name) || (/^content-length$/i.test(name) && value !== '0')
    }),
    port: Number.isNaN(port) ? undefined : port,
    redacted: fields
      .filter(([name, value]) => value === '<redacted>' && !((jwt || apiKey) && CREDENTIAL.test(name)))
      .map(([name]) => name),
    upstreamStatus: answer?.type === 'callEnd' ? answer.status : undefined,
  }
}

/** The default location of a token or key. */
const CREDENTIAL = /^authorization$/i

/** The caller that policies have authenticated. */
function callerOf(messages: readonly ReadEvent['message'][]): Pick<HeadSnapshot, 'jwt' | 'apiKey'> {
  const heads = messages.flatMap(message => (message.type === 'snapshot' ? [message.state] : []))
  return heads.findLast(({ jwt, apiKey }) => jwt !== undefined || apiKey !== undefined) ?? {}
}

/** The request is sent again at another time. */
function withoutTimes({ exp: _, nbf: __, iat: ___, ...claims }: Readonly<Record<string, unknown>>) {
  return claims
}

/** Without the port. */
function sourceOf(source: string | undefined): string | undefined {
  return /^(.+):\d+$/.exec(source ?? '')?.[1]
}

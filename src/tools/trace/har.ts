import { STATUS_CODES } from 'node:http'
import { printableJson } from '../../diagnostics/render/json.ts'
import { collectRequests, type Unreadable } from '../events/recorded-requests.ts'
import type { Recording } from '../events/recording.ts'
import type { RequestTrace } from '../events/state.ts'
import { eventCount } from '../events/steps.ts'

type Fields = readonly (readonly [string, string])[]

interface Named {
  readonly name: string
  readonly value: string
}

/**
 * A recording as a HAR 1.2 document, for browsers and other HTTP viewers: an entry per request as the client sent it,
 * with the head of the response that the client got. If the recording breaks off, the document has what arrived, and
 * `broken` has the reason; if it never began, that is thrown.
 */
export async function harDocument(
  recording: Recording,
  version: string,
  unreadable: Unreadable,
): Promise<{ readonly text: string; readonly broken?: unknown }> {
  const { made: entries, ...rest } = await collectRequests(recording, unreadable, each => {
    return printableJson(JSON.stringify(entryOf(each)))
  })
  const creator = JSON.stringify({ name: 'gwctl', version })
  const list = entries.length === 0 ? '[]' : `[\n${entries.join(',\n')}\n]`
  return { text: `{"log":{"version":"1.2","creator":${creator},"entries":${list}}}\n`, ...rest }
}

function entryOf(trace: RequestTrace) {
  const messages = trace.steps.map(({ event }) => event.message)
  const started = messages.find(message => message.type === 'requestStarted')
  const finished = messages.findLast(message => message.type === 'requestFinished')
  const answered = answeredAt(trace) ?? trace.end?.at ?? 0
  const ended = trace.end?.at ?? answered
  const route = messages.findLast(message => message.type === 'route')
  const backend = messages.findLast(message => message.type === 'backend')
  return {
    startedDateTime: started?.type === 'requestStarted' ? started.time : new Date(0).toISOString(),
    time: ended / 1000,
    request: requestOf(trace),
    response: responseOf(trace),
    cache: {},
    timings: {
      blocked: -1,
      dns: -1,
      connect: -1,
      ssl: -1,
      send: 0,
      wait: answered / 1000,
      receive: (ended - answered) / 1000,
    },
    ...(trace.lost === 0 ? {} : { comment: `${eventCount(trace.lost)} of the trace missing` }),
    // Data without a place in HAR; custom names begin with an underscore.
    _gateway: {
      request: trace.id,
      source: trace.source,
      ...(route?.type === 'route' ? { route: route.selected } : {}),
      ...(backend?.type === 'backend' ? { backend: backend.backend } : {}),
      ...(finished?.type === 'requestFinished' ? { reason: finished.reason, error: finished.error } : {}),
      finished: trace.end !== undefined,
      lostEvents: trace.lost,
    },
  }
}

function requestOf({ method, url, steps }: RequestTrace) {
  const messages = steps.map(({ event }) => event.message)
  const first = messages.find(message => message.type === 'snapshot' && message.state.status === undefined)
  const fields = first?.type === 'snapshot' ? first.state.headers : []
  const bodies = messages.filter(message => message.type === 'body')
  const body = bodies.find(({ stage }) => stage === 'initial request') ?? bodies[0]
  return {
    method,
    url,
    ...UNKNOWN_SIZES,
    headers: named(fields),
    queryString: URL.canParse(url) ? named([...new URL(url).searchParams]) : [],
    bodySize: body?.bytes ?? sizeOf(fieldOf(fields, 'content-length')),
    ...(body === undefined ? {} : { postData: postData(body, fieldOf(fields, 'content-type') ?? '') }),
  }
}

function postData(body: { readonly base64: string; readonly truncated: boolean }, mimeType: string) {
  const bytes = Buffer.from(body.base64, 'base64')
  const cut = body.truncated ? { comment: 'the trace has only the beginning' } : {}
  // HAR has an encoding for response bodies, but not for requests.
  if (!body.truncated && !isText(bytes)) return { mimeType, text: body.base64, params: [], comment: 'base64' }
  return { mimeType, text: bytes.toString(), params: [], ...cut }
}

function responseOf({ end, steps }: RequestTrace) {
  const last = steps.findLast(({ event: { message } }) => isResponse(message))?.event.message
  const fields = last?.type === 'snapshot' ? last.state.headers : []
  const finished = steps.findLast(({ event }) => event.message.type === 'requestFinished')?.event.message
  const size = finished?.type === 'requestFinished' ? finished.bytes : 0
  // 0 tells viewers that there was no response.
  const status = end?.status ?? (last?.type === 'snapshot' ? last.state.status : undefined) ?? 0
  return {
    status,
    statusText: STATUS_CODES[status] ?? '',
    ...UNKNOWN_SIZES,
    headers: named(fields),
    content: { size, mimeType: fieldOf(fields, 'content-type') ?? 'x-unknown' },
    redirectURL: fieldOf(fields, 'location') ?? '',
    bodySize: size,
  }
}

/** Unknown from a trace: heads are already parsed, and cookies are credentials. */
const UNKNOWN_SIZES = { httpVersion: 'unknown', cookies: [], headersSize: -1 }

/** Microseconds until the response head. */
function answeredAt({ steps }: RequestTrace): number | undefined {
  return steps.findLast(({ event }) => isResponse(event.message))?.event.at
}

function isResponse(message: RequestTrace['steps'][number]['event']['message']): boolean {
  return message.type === 'snapshot' && message.state.status !== undefined
}

/** -1 if unknown. */
function sizeOf(length: string | undefined): number {
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : -1
}

function isText(bytes: Buffer): boolean {
  return Buffer.from(bytes.toString()).equals(bytes)
}

function named(fields: Fields): Named[] {
  return fields.map(([name, value]) => ({ name, value }))
}

function fieldOf(fields: Fields, wanted: string): string | undefined {
  return fields.find(([name]) => name.toLowerCase() === wanted)?.[1]
}

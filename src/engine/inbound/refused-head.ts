import { type Exchange, emptyHead } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import { SocketBody } from '../../http/socket-body.ts'
import type { Connection } from './connection.ts'
import type { MalformedRequest } from './http1-head.ts'
import { exchangeFor, type ListenerHost, placeRefused } from './serve-exchange.ts'

const REFUSALS = {
  400: ['Bad Request', 'invalid request'],
  408: ['Request Timeout', 'request timeout'],
  417: ['Expectation Failed', 'expectation failed'],
  431: ['Request Header Fields Too Large', 'request header fields too large'],
} as const

/** The whole reply to a malformed request, one byte per character. */
export function refusalReply({ status }: MalformedRequest): string {
  const [text, body] = REFUSALS[status]
  return `HTTP/1.1 ${status} ${text}\r\ncontent-type: text/plain\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
}

/**
 * Logs and counts a malformed head: one record per connection, since nothing is read after it. The record has no
 * request fields. `age`: ms since its first byte, if known.
 */
export function recordRefusedHead(
  refusal: MalformedRequest,
  connection: Connection,
  host: ListenerHost,
  age = 0,
): void {
  const head = { ...emptyHead(), method: '', path: '' }
  const body = new SocketBody(Buffer.alloc(0), 0, host.runtime)
  const x = exchangeFor({ connection, httpVersion: '1.1', head, body }, host)
  placeRefused(x, host)
  x.endedMono = x.startedMono + age
  x.responseBytes = REFUSALS[refusal.status][1].length
  markRefused(x, refusal)
  host.refused(x)
}

/** Marks a request whose head was served but whose body is malformed. */
export function markRefused(x: Exchange, { status, message }: MalformedRequest): void {
  const words = REFUSALS[status][1]
  x.error = status === 400 ? `${words}: ${message}` : words
  x.reason = 'InvalidRequest'
  x.response ??= { status, headers: new HeaderList() }
}

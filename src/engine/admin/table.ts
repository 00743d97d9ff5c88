import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Writable } from 'node:stream'

/** A request to an admin path, as far as a handler needs to see it. */
export interface AdminRequest {
  readonly method: 'GET' | 'POST'
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** The client has its answer, or does not wait for it any more. */
  readonly left: AbortSignal
}

export interface TextReply {
  readonly status: number
  readonly type: 'text/plain' | 'application/json' | 'application/octet-stream'
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

/** Writes the body as it comes about. Either `stream` is called, which ends it unless the client leaves, or `cancel`. */
export interface StreamReply {
  readonly status: 200
  readonly type: 'text/event-stream'
  readonly stream: (out: Writable) => void
  readonly cancel: () => void
}

export type AdminReply = TextReply | StreamReply

export interface AdminPath {
  readonly path: string
  readonly methods: readonly AdminRequest['method'][]
  /** One line for the index. */
  readonly summary: string
  readonly handler: (request: AdminRequest) => AdminReply | Promise<AdminReply>
}

export interface EndpointOptions {
  readonly paths: readonly AdminPath[]
  /** A reason to refuse a request whatever its path is. */
  readonly refuse?: (request: IncomingMessage) => string | undefined
  /** ms until a request must have come whole; 10 s when unset. */
  readonly requestTimeout?: number
}

export function text(body: string, status = 200): TextReply {
  return { status, type: 'text/plain', body }
}

export function json(value: unknown): TextReply {
  return { status: 200, type: 'application/json', body: `${JSON.stringify(value, null, 2)}\n` }
}

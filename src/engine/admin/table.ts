import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Writable } from 'node:stream'

/** A request to an admin path, as handlers see it. */
export interface AdminRequest {
  readonly method: 'GET' | 'POST'
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** Aborts when the client has its response or has disconnected. */
  readonly left: AbortSignal
}

export interface TextReply {
  readonly status: number
  readonly type: 'text/plain' | 'application/json' | 'application/octet-stream'
  /** A generator's pieces are produced while they are sent. */
  readonly body: string | Buffer | Generator<string, void>
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Streams the body as it is produced. Either `stream` is called, which ends the response unless the client disconnects
 * first, or `cancel`.
 */
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
  /** Allowed query parameters, each at most once; others are rejected. If unset, the query is ignored. */
  readonly parameters?: readonly string[]
  /** One line for the index. */
  readonly summary: string
  readonly handler: (request: AdminRequest) => AdminReply | Promise<AdminReply>
}

export interface EndpointOptions {
  readonly paths: readonly AdminPath[]
  /** A reason to reject a request, independent of its path. */
  readonly refuse?: (request: IncomingMessage) => string | undefined
  /** Deadline in ms for receiving the whole request; 10 s if unset. */
  readonly requestTimeout?: number
}

export function text(body: string, status = 200): TextReply {
  return { status, type: 'text/plain', body }
}

/** Formatted as by `JSON.stringify(value, null, 2)`. */
export function json(value: object): TextReply {
  return { status: 200, type: 'application/json', body: jsonPieces(value) }
}

/** Characters per piece; much larger ones would delay requests in flight. */
export const PIECE = 64 * 1024

function* jsonPieces(value: object): Generator<string, void> {
  let text = '{'
  let separator = '\n'
  for (const [name, section] of Object.entries(value)) {
    if (section === undefined) continue
    text += `${separator}  ${JSON.stringify(name)}: `
    separator = ',\n'
    if (!Array.isArray(section) || section.length === 0) {
      text += indented(section, '  ')
      continue
    }
    let between = '[\n'
    for (const item of section) {
      text += `${between}    ${indented(item, '    ')}`
      between = ',\n'
      if (text.length < PIECE) continue
      yield text
      text = ''
    }
    text += '\n  ]'
  }
  yield `${text}${separator === '\n' ? '' : '\n'}}\n`
}

function indented(value: unknown, by: string): string {
  return (JSON.stringify(value, null, 2) ?? 'null').replaceAll('\n', `\n${by}`)
}

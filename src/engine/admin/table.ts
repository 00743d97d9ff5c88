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
  /** Pieces of a long text are made while it is sent. */
  readonly body: string | Buffer | Generator<string, void>
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
  /** What its query may hold, each once; whatever else is refused. Unset: a query is passed over. */
  readonly parameters?: readonly string[]
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

/** As `JSON.stringify(value, null, 2)` writes it. */
export function json(value: object): TextReply {
  return { status: 200, type: 'application/json', body: jsonPieces(value) }
}

/** Characters of a piece: many times that would hold up the requests that are being served. */
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

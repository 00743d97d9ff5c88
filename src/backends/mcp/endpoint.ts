import { GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { ResponseHandler } from '../../http/transport.ts'
import { HEADER_MISMATCH, INVALID_REQUEST } from '../../mcp/errors.ts'
import { type Message, readClientMessage } from '../../mcp/message.ts'
import { META_VERSION, metaOf } from '../../mcp/request-meta.ts'
import { Answer, accepts } from './answer.ts'
import type { Era, EraService } from './eras/era.ts'
import { ERAS, eraOf, PROTOCOL_VERSIONS } from './eras/index.ts'
import type { SessionStore } from './eras/sessions/session-store.ts'
import type { SharedTargets } from './eras/stateless/shared-targets.ts'
import { refuseVersion } from './eras/versions.ts'
import { isLocal } from './local-host.ts'
import { Router } from './router.ts'
import type { McpSetup } from './setup.ts'

/** Serves MCP's Streamable HTTP to clients. The order of the checks is part of the contract. */
export class McpEndpoint {
  readonly #setup: McpSetup
  readonly #eras: ReadonlyMap<Era, EraService>

  constructor(setup: McpSetup, store: SessionStore, shared: SharedTargets) {
    this.#setup = setup
    const place = {
      setup,
      store,
      shared,
      router: new Router(setup, PROTOCOL_VERSIONS),
      eras: ERAS,
      versions: PROTOCOL_VERSIONS,
    }
    this.#eras = new Map(ERAS.map(era => [era, era.serve(place)]))
  }

  serve(x: Exchange, on: ResponseHandler): void {
    if (this.#setup.localOnly && !isLocal(x.request)) {
      refuseForeign(on)
      return
    }
    const { metadata, runtime, signIns } = this.#setup
    if (signIns.some(pages => pages.serve(x, on))) return
    if (metadata?.serve(x, on)) return
    const answer = new Answer(x, metadata ? metadata.around(x, on) : on, runtime.clock)
    if (this.#setup.targets.length === 0) {
      answer.refuse(503, 'no backends configured')
      return
    }
    for (const service of this.#eras.values()) if (service.claims?.(x, answer)) return
    if (x.request.method === 'POST') {
      this.#post(x, answer)
      return
    }
    const allowed = this.#setup.stateful ? 'GET, POST, DELETE' : 'POST'
    answer.refuse(405, 'method not allowed; must be GET, POST, or DELETE', ['allow', allowed])
  }

  #post(x: Exchange, answer: Answer): void {
    const { headers } = x.request
    if (!accepts(x, 'application/json') || !accepts(x, 'text/event-stream')) {
      answer.refuse(406, 'client must accept both application/json and text/event-stream')
      return
    }
    if (!headers.get('content-type')?.toLowerCase().startsWith('application/json')) {
      answer.refuse(415, 'client must send application/json')
      return
    }
    const { bytes } = x.body
    const { maxBody } = this.#setup
    if (bytes && bytes.length <= maxBody) {
      this.#read(bytes, answer)
      return
    }
    x.body
      .buffer(maxBody)
      .then(whole => (whole.length <= maxBody ? this.#read(whole, answer) : refuseLarge(maxBody, answer)))
      .catch((error: unknown) => {
        if (error instanceof GatewayError && error.code === 'bodyTooLarge') refuseLarge(maxBody, answer)
        else answer.cut(error as Error)
      })
  }

  #read(bytes: Buffer, answer: Answer): void {
    const read = readClientMessage(bytes)
    if ('kind' in read) {
      answer.refuse(400, `fail to deserialize request body: ${read.problem}`)
      return
    }
    const { message, outline } = read
    const { x } = answer
    const version = x.request.headers.get('mcp-protocol-version')
    const era = eraOf(version ?? revisionIn(message))
    if (!era) {
      refuseVersion(message, version ?? '', versionsFor(message), answer)
      return
    }
    if (version !== undefined && !beginsAs(era, message, version)) {
      const error = { code: HEADER_MISMATCH, message: 'MCP protocol version header/body mismatch' }
      answer.fail(400, message.kind === 'request' ? message.id : null, error)
      return
    }
    const session = x.request.headers.get('mcp-session-id')
    x.mcp = {
      ...(message.kind === 'response' ? {} : { method: message.method }),
      ...(session === undefined ? {} : { sessionId: session }),
    }
    this.#eras.get(era)?.admit(message, outline, answer)
  }
}

/** Since 2026-07-28 the body names the revision as well. One that no era supports is ignored. */
function revisionIn(message: Message): string | undefined {
  const named = message.kind === 'response' ? undefined : metaOf(message.params)?.[META_VERSION]
  return typeof named === 'string' && eraOf(named) ? named : undefined
}

/** The revisions to offer instead. A client that states its revision in each request does not open sessions. */
function versionsFor(message: Message): readonly string[] {
  const named = message.kind === 'response' ? undefined : metaOf(message.params)?.[META_VERSION]
  return named === undefined ? PROTOCOL_VERSIONS : (ERAS.at(-1) ?? ERAS[0]).versions
}

/** Whether a message that opens a session names the same revision in header and body. */
function beginsAs(era: Era, message: Message, version: string): boolean {
  if (message.kind !== 'request' || message.method !== 'initialize' || era.introduction !== 'initialize') return true
  return message.params.protocolVersion === version
}

function refuseLarge(limit: number, answer: Answer): void {
  const message = `the request is larger than ${limit} bytes`
  answer.fail(413, null, { code: INVALID_REQUEST, message })
}

function refuseForeign(on: ResponseHandler): void {
  const text = 'MCP DNS rebinding protection: Host/Origin must be localhost, 127.0.0.1, or [::1]'
  on.fail(new GatewayError('mcp', { status: 403, detail: text, body: { type: 'text/plain', text } }))
}

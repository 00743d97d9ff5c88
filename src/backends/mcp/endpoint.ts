import { GatewayError } from '../../http/errors.ts'
import type { AuthFacts, Exchange } from '../../http/exchange.ts'
import type { ResponseHandler } from '../../http/transport.ts'
import { HEADER_MISMATCH, INVALID_REQUEST, UNSUPPORTED_VERSION } from '../../mcp/errors.ts'
import type { JsonOutline } from '../../mcp/json-outline.ts'
import { type Message, type Notification, type Request, readClientMessage } from '../../mcp/message.ts'
import { isKnownVersion, isModernVersion, MODERN_VERSION, PROTOCOL_VERSIONS } from '../../mcp/protocol.ts'
import { decodeSessionId, encodeSessionId, fingerprint } from '../../mcp/session-id.ts'
import { ownId } from '../../runtime/session-owner.ts'
import { Answer } from './answer.ts'
import { networkOf } from './client-network.ts'
import { deliver } from './deliver.ts'
import { LegacyEndpoint } from './legacy-endpoint.ts'
import { isLocal } from './local-host.ts'
import { Router } from './router.ts'
import { openServerStream } from './server-stream.ts'
import { Session } from './session.ts'
import type { SessionStore } from './session-store.ts'
import type { McpSetup } from './setup.ts'

const MODERN_ONLY_LEGACY = PROTOCOL_VERSIONS.filter(version => version < MODERN_VERSION)

/** Streams of one session for what no call asked for. */
const MAX_STREAMS = 16

/** Serves MCP's Streamable HTTP to clients. The order of the checks is part of the contract. */
export class McpEndpoint {
  readonly #setup: McpSetup
  readonly #store: SessionStore
  readonly #router: Router
  readonly #legacy: LegacyEndpoint

  constructor(setup: McpSetup, store: SessionStore) {
    this.#setup = setup
    this.#store = store
    this.#router = new Router(setup)
    this.#legacy = new LegacyEndpoint(
      setup,
      store,
      this.#router,
      x => this.#newSession(x),
      (session, x) => session.principal === principalOf(x.auth),
    )
  }

  serve(x: Exchange, on: ResponseHandler): void {
    if (this.#setup.localOnly && !isLocal(x.request)) {
      refuseForeign(on)
      return
    }
    const answer = new Answer(x, on, this.#setup.runtime.clock)
    if (this.#setup.targets.length === 0) {
      answer.refuse(503, 'no backends configured')
      return
    }
    if (LegacyEndpoint.serves(x)) {
      this.#legacy.serve(x, answer)
      return
    }
    switch (x.request.method) {
      case 'POST':
        this.#post(x, answer)
        return
      case 'GET':
        if (this.#setup.stateful) {
          this.#get(x, answer)
          return
        }
        break
      case 'DELETE':
        if (this.#setup.stateful) {
          this.#delete(x, answer)
          return
        }
        break
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
    if (!this.#versionFits(message, answer)) return
    const sent = x.request.headers.get('mcp-session-id')
    x.mcp = {
      ...(message.kind === 'response' ? {} : { method: message.method }),
      ...(sent === undefined ? {} : { sessionId: sent }),
    }
    if (isModernVersion(x.request.headers.get('mcp-protocol-version'))) {
      this.#modern(message, outline, answer)
      return
    }
    if (!this.#setup.stateful) {
      this.#withoutSession(message, outline, answer)
      return
    }
    if (sent === undefined) {
      if (message.kind === 'request' && message.method === 'initialize') {
        this.#begin(message, answer)
        return
      }
      answer.refuse(400, 'session header is required for non-initialize requests')
      return
    }
    const session = this.#find(sent, answer, true)
    if (!session) return
    this.#store.use(session)
    this.#hold(session, answer)
    deliver(this.#setup, this.#router, session, message, outline, answer)
  }

  #begin(request: Request, answer: Answer): void {
    const { x } = answer
    const session = this.#newSession(x)
    if (!this.#store.admit(session)) {
      answer.refuse(503, 'fail to create session: too many sessions')
      return
    }
    session.open(request)
    answer.hold()
    // A client that leaves before the session has a name: nobody else could end it, and what its targets have started.
    answer.onEnd(() => {
      if (session.id === '') session.end()
    })
    this.#router.introduce(session, request, answer, reply => {
      if (reply === undefined) return
      if (session.ended) return answer.failWith(request.id, { message: 'a target ended the session', down: true })
      session.id = this.#nameOf(session)
      this.#store.add(session)
      this.#hold(session, answer)
      if (x.mcp) x.mcp.sessionId = session.id
      answer.release(session.id)
      answer.finalEvent(reply)
    })
  }

  /** Stateless: the targets are greeted for this one message and dismissed after it. */
  #withoutSession(message: Message, outline: JsonOutline, answer: Answer): void {
    if (message.kind !== 'request') {
      answer.accepted()
      return
    }
    const session = this.#newSession(answer.x)
    answer.onEnd(() => session.end())
    if (message.method !== 'initialize') {
      this.#router.route(session, message, outline, answer)
      return
    }
    this.#router.introduce(session, message, answer, reply => {
      if (reply !== undefined) answer.finalEvent(reply)
    })
  }

  /** From 2026-07-28 on no request needs a session. One target speaks it for itself; several have no common voice. */
  #modern(message: Message, outline: JsonOutline, answer: Answer): void {
    const only = this.#setup.targets[0]
    if (message.kind === 'response') {
      answer.refuse(400, 'a response answers nothing here')
      return
    }
    if (this.#setup.multiple || only?.kind !== 'mcp') {
      refuseVersion(message, MODERN_VERSION, answer)
      return
    }
    if (answer.x.request.headers.has('mcp-session-id')) {
      answer.refuse(400, 'this protocol version has no sessions')
      return
    }
    if (!namesAgree(answer.x, message)) {
      const error = { code: HEADER_MISMATCH, message: 'Mcp-Name header and body disagree' }
      answer.fail(400, message.kind === 'request' ? message.id : null, error)
      return
    }
    const session = this.#newSession(answer.x)
    for (const link of session.links) {
      session.connect(link)
      link.state = 'ready'
    }
    answer.onEnd(() => session.end())
    deliver(this.#setup, this.#router, session, message, outline, answer)
  }

  #get(x: Exchange, answer: Answer): void {
    if (!accepts(x, 'text/event-stream')) {
      answer.refuse(406, 'client must accept text/event-stream')
      return
    }
    const session = this.#required(x, answer)
    if (!session) return
    if (session.streams.size >= MAX_STREAMS) {
      answer.refuse(409, 'too many streams of this session are open')
      return
    }
    this.#store.use(session)
    this.#hold(session, answer)
    openServerStream(this.#setup, this.#router, session, answer)
  }

  #delete(x: Exchange, answer: Answer): void {
    const id = x.request.headers.get('mcp-session-id')
    if (id === undefined) {
      answer.refuse(400, 'session ID is required')
      return
    }
    const session = this.#store.get(id)
    if (session && session.principal === principalOf(x.auth)) session.end()
    answer.accepted()
  }

  #required(x: Exchange, answer: Answer): Session | undefined {
    const id = x.request.headers.get('mcp-session-id')
    if (id !== undefined) return this.#find(id, answer, false)
    answer.refuse(400, 'session ID is required')
    return undefined
  }

  /** The session of that id; one that began on another replica is taken up when its id says enough. */
  #find(id: string, answer: Answer, resume: boolean): Session | undefined {
    const principal = principalOf(answer.x.auth)
    const session = this.#store.get(id)
    if (session) {
      if (session.principal === principal && !session.outlet) return session
      answer.refuse(404, 'session not found')
      return undefined
    }
    if (!this.#setup.resumable || this.#store.hasEnded(id)) {
      answer.refuse(404, 'session not found')
      return undefined
    }
    const state = decodeSessionId(id, this.#setup.sessionKey)
    if (!state) {
      answer.refuse(400, 'invalid session ID header')
      return undefined
    }
    const { targets, backend } = this.#setup
    const same =
      state.backend === backend &&
      state.principal === principal &&
      state.targets.length === targets.length &&
      state.targets.every((target, i) => target.name === targets[i]?.name)
    const resumed = same && resume ? this.#newSession(answer.x) : undefined
    if (!resumed || !this.#store.admit(resumed)) {
      answer.refuse(404, 'session not found')
      return undefined
    }
    resumed.id = id
    for (const [i, link] of resumed.links.entries()) {
      resumed.connect(link, state.targets[i]?.session)
      link.state = 'ready'
    }
    this.#store.add(resumed)
    return resumed
  }

  #newSession(x: Exchange): Session {
    return new Session(this.#setup.targets, {
      clock: this.#setup.runtime.clock,
      failOpen: this.#setup.failOpen,
      principal: principalOf(x.auth),
      client: clientOf(x),
      clientVersion: x.request.headers.get('mcp-protocol-version') ?? '',
      onEnd: (session, targets) => this.#store.remove(session, targets),
    })
  }

  #nameOf(session: Session): string {
    const { resumable, backend, sessionKey, runtime } = this.#setup
    if (!resumable) return ownId(runtime.worker, () => runtime.uuid())
    const targets = session.links.map(link => ({ name: link.name, session: link.connection?.session }))
    const { principal } = session
    return ownId(runtime.worker, () =>
      encodeSessionId({ targets, nonce: runtime.uuid(), backend, principal }, sessionKey),
    )
  }

  /** The session counts as used as long as this answer is open. */
  #hold(session: Session, answer: Answer): void {
    session.active++
    answer.onEnd(() => {
      session.active--
      session.lastUsed = this.#setup.runtime.clock.mono()
    })
  }

  #versionFits(message: Message, answer: Answer): boolean {
    const version = answer.x.request.headers.get('mcp-protocol-version')
    if (version === undefined) return true
    if (!isKnownVersion(version)) {
      refuseVersion(message, version, answer)
      return false
    }
    if (message.kind !== 'request' || message.method !== 'initialize') return true
    if (message.params.protocolVersion === version) return true
    answer.fail(400, message.id, { code: HEADER_MISMATCH, message: 'MCP protocol version header/body mismatch' })
    return false
  }
}

function accepts(x: Exchange, type: string): boolean {
  return x.request.headers.getAll('accept').some(value => value.toLowerCase().includes(type))
}

function refuseVersion(message: Message, requested: string, answer: Answer): void {
  const initialize = message.kind === 'request' && message.method === 'initialize'
  const supported = requested === MODERN_VERSION ? MODERN_ONLY_LEGACY : PROTOCOL_VERSIONS
  answer.fail(400, message.kind === 'request' ? message.id : null, {
    code: UNSUPPORTED_VERSION,
    message: `unsupported MCP protocol version: ${requested.slice(0, 64)}`,
    ...(initialize ? {} : { data: { supported, requested: requested.slice(0, 64) } }),
  })
}

function refuseLarge(limit: number, answer: Answer): void {
  const message = `the request is larger than ${limit} bytes`
  answer.fail(413, null, { code: INVALID_REQUEST, message })
}

function refuseForeign(on: ResponseHandler): void {
  const text = 'MCP DNS rebinding protection: Host/Origin must be localhost, 127.0.0.1, or [::1]'
  on.fail(new GatewayError('mcp', { status: 403, detail: text, body: { type: 'text/plain', text } }))
}

/** What the gateway authorizes by the body must be what intermediaries route by the header. */
function namesAgree(x: Exchange, message: Request | Notification): boolean {
  const given = x.request.headers.get('mcp-name')?.trim()
  const { name, uri } = message.params
  const named = typeof name === 'string' ? name : uri
  if (given === undefined || typeof named !== 'string') return true
  const encoded = /^=\?base64\?(.*)\?=$/.exec(given)
  return (encoded ? Buffer.from(encoded[1] as string, 'base64').toString() : given) === named
}

/** Who a session belongs to: somebody else who learns its id has no use for it. */
function principalOf({ jwt, apiKey, basic }: AuthFacts): string | undefined {
  const who = jwt
    ? ['jwt', jwt.iss, jwt.sub]
    : apiKey
      ? ['key', apiKey.key ?? apiKey]
      : basic
        ? ['basic', basic.username]
        : undefined
  return who && fingerprint(JSON.stringify(who))
}

/** Who counts as one when places are short: the principal, or the network that a client can choose its address from. */
function clientOf(x: Exchange): string {
  const principal = principalOf(x.auth)
  if (principal !== undefined) return `principal ${principal}`
  return `address ${networkOf(x.connection.address)}`
}

import { principalOf } from '../../../../auth/principal.ts'
import type { Exchange } from '../../../../http/exchange.ts'
import type { StreamPosition } from '../../../../mcp/event-id.ts'
import type { JsonOutline } from '../../../../mcp/json-outline.ts'
import type { Message, Request } from '../../../../mcp/message.ts'
import { type ClientFacts, NOBODY } from '../../../../mcp/request-meta.ts'
import { decodeSessionId, encodeSessionId } from '../../../../mcp/session-id.ts'
import { ownId } from '../../../../runtime/session-owner.ts'
import { type Answer, accepts } from '../../answer.ts'
import { deliver } from '../../deliver.ts'
import { clientOf } from '../../principal.ts'
import type { Router } from '../../router.ts'
import type { McpSetup } from '../../setup.ts'
import type { McpTarget } from '../../targets.ts'
import type { Era, EraPlace, EraService } from '../era.ts'
import { ClientSession } from './client-session.ts'
import { eventNonce } from './event-log.ts'
import { LegacyEndpoint } from './legacy-endpoint.ts'
import { resumeCall } from './resume-call.ts'
import { openServerStream } from './server-stream.ts'
import type { SessionStore } from './session-store.ts'

/** Streams per session for unsolicited messages. */
const MAX_STREAMS = 16
/** From this revision on clients accept events without data (MCP transports, "Sending Messages to the Server"). */
const PRIMES = '2025-11-25'
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/
const NONE: ReadonlyMap<string, string> = new Map()
const NOWHERE: StreamPosition = { request: undefined, targets: NONE }

/** Opens, finds and ends the sessions of one backend's clients. */
export class SessionService implements EraService {
  readonly #era: Era
  readonly #setup: McpSetup
  readonly #store: SessionStore
  readonly #router: Router
  readonly #legacy: LegacyEndpoint
  readonly #eras: readonly Era[]
  /** For the event ids of this process. */
  readonly #nonce: string

  constructor(era: Era, { setup, store, router, eras }: EraPlace) {
    this.#nonce = eventNonce(setup.runtime.uuid())
    this.#eras = eras
    this.#era = era
    this.#setup = setup
    this.#store = store
    this.#router = router
    this.#legacy = new LegacyEndpoint(
      setup,
      store,
      router,
      x => this.#newSession(x),
      (session, x) => session.principal === principalOf(x.auth),
    )
  }

  claims(x: Exchange, answer: Answer): boolean {
    if (LegacyEndpoint.serves(x)) this.#legacy.serve(x, answer)
    else if (!this.#setup.stateful) return false
    else if (x.request.method === 'GET') this.#listen(x, answer)
    else if (x.request.method === 'DELETE') this.#leave(x, answer)
    else return false
    return true
  }

  admit(message: Message, outline: JsonOutline, answer: Answer): void {
    if (!this.#setup.stateful) {
      this.#withoutSession(message, outline, answer)
      return
    }
    const id = answer.x.request.headers.get('mcp-session-id')
    if (id === undefined) {
      if (message.kind === 'request' && message.method === 'initialize') this.#begin(message, answer)
      else answer.refuse(400, 'session header is required for non-initialize requests')
      return
    }
    const session = this.#find(id, answer)
    if (!session) return
    this.#store.use(session)
    this.#hold(session, answer)
    if (message.kind === 'request' && !this.#isTransparent(session))
      answer.keep(session.events.begin({ request: message.id, targets: NONE }, takesPrimes(answer.x)))
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
    // If the client disconnects before the session has an id, nothing else would end the session and what its targets
    // started.
    answer.onEnd(() => {
      if (session.id === '') session.end()
    })
    this.#router.introduce(session, request, answer, () => {
      if (session.ended) {
        answer.failWith(request.id, { message: 'a target ended the session', down: true })
        return false
      }
      session.id = this.#nameOf(session)
      this.#store.add(session)
      this.#hold(session, answer)
      if (x.mcp) x.mcp.sessionId = session.id
      answer.release(session.id)
      return true
    })
  }

  /** Stateless: the targets are connected for this message only. */
  #withoutSession(message: Message, outline: JsonOutline, answer: Answer): void {
    if (message.kind !== 'request') {
      answer.accepted()
      return
    }
    const session = this.#newSession(answer.x)
    answer.onEnd(() => session.end())
    if (message.method !== this.#era.introduction) {
      this.#router.route(session, message, outline, answer)
      return
    }
    this.#router.introduce(session, message, answer, () => true)
  }

  #listen(x: Exchange, answer: Answer): void {
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
    const last = x.request.headers.get('last-event-id')
    const found = last === undefined ? undefined : session.events.find(last)
    if (found) {
      found.log.resume(answer, found.after)
      if (found.log.request === undefined)
        openServerStream(this.#setup, this.#router, session, answer, found.log.targets)
      return
    }
    if (this.#isTransparent(session)) {
      openServerStream(this.#setup, this.#router, session, answer, NONE, last && session.unseal(last))
      return
    }
    const begun = (last === undefined ? undefined : session.events.positionOf(last)) ?? NOWHERE
    answer.keep(session.events.begin(begun, takesPrimes(x)))
    const { request: id, targets } = begun
    if (id !== undefined) resumeCall(this.#setup, this.#router, session, { id, targets }, answer)
    else openServerStream(this.#setup, this.#router, session, answer, targets)
  }

  #leave(x: Exchange, answer: Answer): void {
    const id = x.request.headers.get('mcp-session-id')
    if (id === undefined) {
      answer.refuse(400, 'session ID is required')
      return
    }
    const session = this.#store.get(id)
    if (session && session.principal === principalOf(x.auth)) session.end()
    answer.accepted()
  }

  #required(x: Exchange, answer: Answer): ClientSession | undefined {
    const id = x.request.headers.get('mcp-session-id')
    if (id !== undefined) return this.#find(id, answer)
    answer.refuse(400, 'session ID is required')
    return undefined
  }

  /** The session with that id. One from another replica is restored if its id contains enough. */
  #find(id: string, answer: Answer): ClientSession | undefined {
    const principal = principalOf(answer.x.auth)
    const session = this.#store.get(id)
    if (session) {
      if (session.principal === principal && !session.outlet) return session
      answer.refuse(404, 'session not found')
      return undefined
    }
    const { sessionKey } = this.#setup
    if (this.#store.hasEnded(id) || (sessionKey === undefined && UUID.test(id))) {
      answer.refuse(404, 'session not found')
      return undefined
    }
    const state = sessionKey && decodeSessionId(id, sessionKey)
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
    const resumed = same ? this.#newSession(answer.x, state.client) : undefined
    if (!resumed || !this.#store.admit(resumed)) {
      answer.refuse(404, 'session not found')
      return undefined
    }
    resumed.id = id
    for (const [i, link] of resumed.targets.links.entries()) {
      // Connected again by its first call: it keeps no session, or has lost it.
      link.forgets = !outlives(link.target)
      if (state.targets[i]?.stateless) continue
      resumed.targets.connect(link, state.targets[i]?.session)
      link.state = 'ready'
    }
    this.#store.add(resumed)
    return resumed
  }

  #newSession(x: Exchange, facts: ClientFacts = NOBODY): ClientSession {
    return new ClientSession(this.#setup.targets, {
      era: this.#era,
      eras: this.#eras,
      facts,
      clock: this.#setup.runtime.clock,
      failOpen: this.#setup.failOpen,
      principal: principalOf(x.auth),
      client: clientOf(x),
      clientVersion: x.request.headers.get('mcp-protocol-version') ?? '',
      nonce: this.#nonce,
      key: this.#setup.sessionKey ?? this.#store.key,
      onEnd: (session, targets) => this.#store.remove(session, targets),
    })
  }

  #nameOf({ era, facts, principal, targets: { links } }: ClientSession): string {
    const { backend, sessionKey, runtime } = this.#setup
    // A readable id would disclose the targets and could be forged.
    if (sessionKey === undefined) return ownId(runtime.worker, () => runtime.uuid())
    const targets = links.map(link => ({
      name: link.name,
      session: link.connection?.session,
      stateless: link.era !== era || link.state !== 'ready' || !outlives(link.target),
    }))
    const client = targets.some(target => target.stateless) ? facts : undefined
    return ownId(runtime.worker, () =>
      encodeSessionId({ targets, nonce: runtime.uuid(), backend, principal, client }, sessionKey),
    )
  }

  /** The only target's own event ids reach the client. */
  #isTransparent({ era, targets }: ClientSession): boolean {
    const [link] = targets.links
    return !this.#setup.multiple && link?.target.kind === 'mcp' && link.era === era
  }

  /** The session counts as in use as long as this answer is open. */
  #hold(session: ClientSession, answer: Answer): void {
    session.active++
    answer.onEnd(() => {
      session.active--
      session.lastUsed = this.#setup.runtime.clock.mono()
    })
  }
}

/** Programs and HTTP+SSE streams end with the gateway; other targets keep their sessions. */
function outlives({ kind }: McpTarget): boolean {
  return kind === 'mcp' || kind === 'openapi'
}

function takesPrimes(x: Exchange): boolean {
  return (x.request.headers.get('mcp-protocol-version') ?? '') >= PRIMES
}

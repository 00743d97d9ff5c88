import type { Exchange } from '../../../../http/exchange.ts'
import { INVALID_PARAMS } from '../../../../mcp/errors.ts'
import type { JsonOutline } from '../../../../mcp/json-outline.ts'
import type { Message, Request } from '../../../../mcp/message.ts'
import { isMcpMethod } from '../../../../mcp/methods.ts'
import { type ClientFacts, clientFactsOf } from '../../../../mcp/request-meta.ts'
import type { Answer } from '../../answer.ts'
import { Calls } from '../../call.ts'
import type { TargetFailure } from '../../connection.ts'
import type { Conversation, Doubt } from '../../conversation.ts'
import { deliver } from '../../deliver.ts'
import type { Greeting } from '../../greet.ts'
import { clientOf } from '../../principal.ts'
import { type Link, type McpTarget, type Shared, Targets } from '../../targets.ts'
import type { Era, EraPlace, EraService } from '../era.ts'
import { syntheticGreeting } from '../sessions/client-session.ts'
import { problemOf } from './admission.ts'
import { discover } from './discover.ts'
import { HeldCalls } from './held-calls.ts'
import { OlderTarget, resumed } from './older-target.ts'
import type { OpenCall } from './open-call.ts'
import { subscribe } from './subscription.ts'

/** Methods of sessions that this era does not have. */
const REMOVED: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
  'tasks/result',
])

const UNKNOWN_STATE = { code: INVALID_PARAMS, message: 'no pending call has this request state' }

/** Deviations in how a request reaches its targets. */
interface Exception {
  /** The call that it continues. */
  readonly resumed?: OpenCall
  /** The only target gets it unchanged, and may turn out to support only older requests. */
  readonly assumed?: boolean
  readonly doubt?: Doubt
}

/** Handles each request on its own, with its own connections to the targets. */
export class StatelessService implements EraService {
  readonly #era: Era
  readonly #place: EraPlace

  constructor(era: Era, place: EraPlace) {
    this.#era = era
    this.#place = place
  }

  admit(message: Message, outline: JsonOutline, answer: Answer): void {
    if (message.kind === 'response') answer.refuse(400, 'this protocol version does not accept responses')
    else if (answer.x.request.headers.has('mcp-session-id')) {
      answer.refuse(400, 'this protocol version has no sessions')
    } else if (message.kind === 'request') this.#request(message, outline, answer)
    else if (this.#isTransparent) this.#deliver(message, outline, answer, { assumed: true })
    else answer.accepted()
  }

  /** The only target is called over HTTP and, as far as is known, speaks this era itself. */
  get #isTransparent(): boolean {
    const { setup, shared } = this.#place
    const [only] = setup.targets
    if (setup.multiple || only?.kind !== 'mcp' || only.users) return false
    return (shared.known(only.name)?.era ?? this.#era) === this.#era
  }

  #request(request: Request, outline: JsonOutline, answer: Answer): void {
    const { id, method, params } = request
    const problem = problemOf(answer.x, request)
    const single = this.#isTransparent
    const { mcpRules, mcpGuards } = answer.x
    // If rules or guards have to parse the messages, the target's era cannot be inferred from raw replies, so it is
    // asked first.
    const transparent = single && mcpRules.length === 0 && mcpGuards.length === 0 && !this.#place.setup.toolGuard
    if (problem) answer.fail(400, id, problem)
    else if (REMOVED.has(method) || (!single && !isMcpMethod(method))) {
      this.#era.refusals.unknownMethod(answer, id, method.slice(0, 64))
    } else if (HeldCalls.names(params.requestState)) this.#resume(request, outline, answer)
    else if (transparent) {
      const doubt: Doubt = refused => this.#doubt(request, outline, answer, refused)
      const { setup, shared } = this.#place
      const known = shared.known(setup.targets[0]?.name ?? '')
      this.#deliver(request, outline, answer, { assumed: true, ...(known ? {} : { doubt }) })
    } else if (method === this.#era.introduction) discover(this.#place, this.#begin(answer, request), request, answer)
    else if (method === 'subscriptions/listen') {
      subscribe(this.#place, this.#begin(answer, request), request, outline, answer)
    } else this.#deliver(request, outline, answer)
  }

  /** Continues a call with the answers of its client. */
  #resume(request: Request, outline: JsonOutline, answer: Answer): void {
    const { shared } = this.#place
    const call = shared.held.take(String(request.params.requestState), clientOf(answer.x))
    if (!call) {
      answer.fail(400, request.id, UNKNOWN_STATE)
      return
    }
    answer.onEnd(() => call.abandon())
    this.#deliver(request, outline, answer, { resumed: call })
  }

  /**
   * The only target refused a request, perhaps since it supports only older ones. Otherwise its refusal is the answer.
   */
  #doubt(request: Request, outline: JsonOutline, answer: Answer, refused: () => void): void {
    const targets = this.#targetsFor(answer, request, () => () => {})
    const [link] = targets.links
    if (!link) {
      refused()
      return
    }
    answer.onEnd(() => targets.close())
    targets.ready(link, answer.x, failure => {
      if (failure || link.era === this.#era) refused()
      else this.#request(request, outline, answer)
    })
  }

  #deliver(message: Message, outline: JsonOutline, answer: Answer, how: Exception = {}): void {
    const request = message.kind === 'request' ? message : undefined
    deliver(this.#place.setup, this.#place.router, this.#begin(answer, request, how), message, outline, answer)
  }

  /** The request's target connections stay open until it is answered and no call waits for its client. */
  #begin(answer: Answer, request?: Request, how: Exception = {}): Conversation {
    let users = 1
    const leave = (): void => {
      users--
      if (users === 0) targets.close()
    }
    const retain = () => {
      let kept = true
      users++
      return () => {
        if (kept) leave()
        kept = false
      }
    }
    const targets = this.#targetsFor(answer, request, retain, how)
    answer.onEnd(leave)
    const calls = new Calls(targets, this.#place.setup.runtime.clock)
    const facts = clientFactsOf(request?.params ?? {})
    return { era: this.#era, targets, calls, facts, ...(how.doubt === undefined ? {} : { doubt: how.doubt }) }
  }

  #targetsFor({ x }: Answer, request: Request | undefined, retain: () => () => void, how: Exception = {}): Targets {
    const { setup, shared } = this.#place
    const client = clientFactsOf(request?.params ?? {})
    const greetings = (link: Link) => this.#greetings(link, x, client)
    const asking = { hold: (call: OpenCall) => shared.held.hold(call, clientOf(x)), retain }
    const facing = { era: this.#era, greetings }
    return new Targets(setup.targets, {
      clock: setup.runtime.clock,
      failOpen: setup.failOpen,
      onDown() {},
      ...facing,
      met: ({ target, era, introduction }) => shared.learn(keyOf(target, x), { era, introduction }),
      bridge: ({ name, capabilities = {} }, connection) =>
        new OlderTarget(connection, { target: name, client, capabilities, asking }),
      share: (link, _x, then) => {
        if (how.resumed?.target === link.name) {
          then({ connection: resumed(how.resumed), era: this.#era, introduction: undefined })
          return true
        }
        if (!link.target.shareable) return this.#shareKnown(link, x, how.assumed === true, then)
        shared.lend(link.target, { client: clientOf(x), facts: client }, facing, x, then)
        return true
      },
    })
  }

  /** No handshake is needed where the target is known to accept requests of this era as they are. */
  #shareKnown(link: Link, x: Exchange, assumed: boolean, then: (shared: Shared | TargetFailure) => void): boolean {
    const known =
      this.#place.shared.known(keyOf(link.target, x)) ??
      (assumed ? { era: this.#era, introduction: undefined } : undefined)
    if (known?.era !== this.#era) return false
    const connection = link.target.connect(() => {})
    connection.version = this.#era.versions[0]
    then({ connection, ...known })
    return true
  }

  /** This era first, then the previous one: a server may answer anything to an unknown request. */
  #greetings(link: Link, x: Exchange, client: ClientFacts): Greeting[] {
    const { eras, shared } = this.#place
    const known = shared.known(keyOf(link.target, x))
    const { kind } = link.target
    const older = kind === 'openapi' || (known !== undefined && known.era !== this.#era)
    const before = eras.filter(era => era !== this.#era)
    const greeting = syntheticGreeting('', client)
    return (older ? before : [this.#era, ...before]).map(era => era.greet(greeting))
  }
}

/** What a target at which users sign in says of itself may be about its user. */
function keyOf({ name, users }: McpTarget, x: Exchange): string {
  return users ? `${name} ${clientOf(x)}` : name
}

import type { JsonOutline } from '../../../../mcp/json-outline.ts'
import type { Message, Request } from '../../../../mcp/message.ts'
import { isMcpMethod } from '../../../../mcp/methods.ts'
import type { Answer } from '../../answer.ts'
import { Calls } from '../../call.ts'
import type { TargetFailure } from '../../connection.ts'
import type { Conversation } from '../../conversation.ts'
import { deliver } from '../../deliver.ts'
import type { Greeting } from '../../greet.ts'
import { clientOf } from '../../principal.ts'
import { type Link, type Shared, Targets } from '../../targets.ts'
import type { Era, EraPlace, EraService } from '../era.ts'
import { syntheticGreeting } from '../sessions/client-session.ts'
import { problemOf } from './admission.ts'
import { discover } from './discover.ts'
import { subscribe } from './subscription.ts'

/** What sessions have, and this era has not. */
const REMOVED: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
  'tasks/result',
])

/** In the gateway's own name: what clients can do changes from request to request. */
const INITIALIZE = syntheticGreeting('')

/** Takes each request by itself: its targets are reached for it alone. */
export class StatelessService implements EraService {
  readonly #era: Era
  readonly #place: EraPlace
  /** The only target, which speaks for itself over HTTP. */
  readonly #transparent: boolean

  constructor(era: Era, place: EraPlace) {
    this.#era = era
    this.#place = place
    this.#transparent = !place.setup.multiple && place.setup.targets[0]?.kind === 'mcp'
  }

  admit(message: Message, outline: JsonOutline, answer: Answer): void {
    if (message.kind === 'response') answer.refuse(400, 'a response answers nothing here')
    else if (answer.x.request.headers.has('mcp-session-id')) {
      answer.refuse(400, 'this protocol version has no sessions')
    } else if (message.kind === 'request') this.#request(message, outline, answer)
    else if (this.#transparent) this.#deliver(message, outline, answer)
    else answer.accepted()
  }

  #request(request: Request, outline: JsonOutline, answer: Answer): void {
    const { id, method } = request
    const problem = problemOf(answer.x, request)
    if (problem) answer.fail(400, id, problem)
    else if (REMOVED.has(method) || (!this.#transparent && !isMcpMethod(method))) {
      this.#era.refusals.unknownMethod(answer, id, method.slice(0, 64))
    } else if (this.#transparent) this.#deliver(request, outline, answer)
    else if (method === this.#era.introduction) discover(this.#place, this.#begin(answer), request, answer)
    else if (method === 'subscriptions/listen') {
      subscribe(this.#place, this.#begin(answer), request, outline, answer)
    } else this.#deliver(request, outline, answer)
  }

  #deliver(message: Message, outline: JsonOutline, answer: Answer): void {
    deliver(this.#place.setup, this.#place.router, this.#begin(answer), message, outline, answer)
  }

  #begin(answer: Answer): Conversation {
    const targets = this.#targetsFor(answer)
    answer.onEnd(() => targets.close())
    return { era: this.#era, targets, calls: new Calls(targets, this.#place.setup.runtime.clock) }
  }

  #targetsFor({ x }: Answer): Targets {
    const { setup, shared } = this.#place
    const greetings = (link: Link) => this.#greetings(link)
    const how = { era: this.#era, greetings }
    return new Targets(setup.targets, {
      clock: setup.runtime.clock,
      failOpen: setup.failOpen,
      onDown() {},
      ...how,
      met: ({ name, era, introduction }) => shared.learn(name, { era, introduction }),
      share: (link, _x, then) => {
        if (!link.target.shareable) return this.#shareKnown(link, then)
        shared.lend(link.target, clientOf(x), how, x, then)
        return true
      },
    })
  }

  /** No greeting is needed where it is known that the target takes requests of this era as they are. */
  #shareKnown(link: Link, then: (shared: Shared | TargetFailure) => void): boolean {
    const known = this.#transparent ? { era: this.#era, introduction: undefined } : this.#place.shared.known(link.name)
    if (known?.era !== this.#era) return false
    const connection = link.target.connect(() => {})
    connection.version = this.#era.versions[0]
    then({ connection, ...known })
    return true
  }

  /** This era first, then the one before: a server that does not know a request may answer anything. */
  #greetings(link: Link): Greeting[] {
    const { eras, shared } = this.#place
    const known = shared.known(link.name)
    const { kind } = link.target
    const older = kind === 'sse' || kind === 'openapi' || (known !== undefined && known.era !== this.#era)
    const before = eras.filter(era => era !== this.#era)
    return (older ? before : [this.#era, ...before]).map(era => era.greet(INITIALIZE))
  }
}

import { isAllowed } from '../../../../mcp/authorization.ts'
import type { JsonOutline } from '../../../../mcp/json-outline.ts'
import { outlineJson, replaceJson } from '../../../../mcp/json-outline.ts'
import { clientName, type Naming } from '../../../../mcp/lists.ts'
import { isObject, type JsonObject, type Notification, type Request } from '../../../../mcp/message.ts'
import { splitUri } from '../../../../mcp/names.ts'
import { META_SUBSCRIPTION } from '../../../../mcp/request-meta.ts'
import type { Answer } from '../../answer.ts'
import type { TargetFailure } from '../../connection.ts'
import type { Conversation } from '../../conversation.ts'
import { guardRequest } from '../../guards.ts'
import { decoyOf } from '../../lists/known-items.ts'
import type { Link } from '../../targets.ts'
import type { EraPlace } from '../era.ts'

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
/** ms after which the subscription begins with the targets that have agreed. */
const AGREEING = 5000
/** Messages held until the subscription begins. */
const MAX_HELD = 64

/**
 * One `subscriptions/listen` for all targets: what they agree to is acknowledged as one, followed by their
 * notifications.
 */
export function subscribe(
  place: EraPlace,
  conversation: Conversation,
  request: Request,
  outline: JsonOutline,
  answer: Answer,
): void {
  answer.x.trace?.emit({ type: 'mcp', method: request.method })
  const { targets, runtime } = place.setup
  const names = targets.map(({ name }) => name)
  guardRequest(answer, request, names, { params: true, clock: runtime.clock }, own => {
    const read = own === request ? outline : outlineJson(own.bytes)
    new Subscription(place, conversation, own, read, answer).start()
  })
}

class Subscription {
  readonly #place: EraPlace
  readonly #conversation: Conversation
  readonly #request: Request
  readonly #outline: JsonOutline
  readonly #answer: Answer
  readonly #naming: Naming
  readonly #agreeing = new Set<Link>()
  readonly #listening = new Set<Link>()
  readonly #flags: Record<string, unknown> = {}
  readonly #uris: string[] = []
  /** What rules hide, by what the target is asked for instead. */
  readonly #decoys = new Map<string, string>()
  #held: (() => void)[] | undefined = []
  #failed: TargetFailure | undefined

  constructor(place: EraPlace, conversation: Conversation, request: Request, outline: JsonOutline, answer: Answer) {
    this.#place = place
    this.#conversation = conversation
    this.#request = request
    this.#outline = outline
    this.#answer = answer
    this.#naming = place.setup.naming
  }

  start(): void {
    const { targets } = this.#conversation
    const { clock } = this.#place.setup.runtime
    for (const link of targets.links) this.#agreeing.add(link)
    const timer = clock.after(AGREEING, () => this.#begin())
    this.#answer.onEnd(() => {
      timer.cancel()
      this.#conversation.calls.cancel(this.#request.id)
    })
    for (const link of targets.links) {
      targets.ready(link, this.#answer.x, failure => {
        if (this.#answer.over) return
        if (failure?.need) this.#agreed(link)
        else if (failure) this.#ended(link, failure)
        else this.#listen(link)
      })
    }
  }

  #listen(link: Link): void {
    const wanted = this.#wantedOf(link)
    if (wanted === undefined) {
      this.#agreed(link)
      return
    }
    this.#listening.add(link)
    this.#conversation.calls.start(
      link,
      wanted,
      this.#answer,
      { ms: 0, untilReply: false },
      {
        flow: this.#answer,
        message: message => {
          if (message.kind === 'notification' && message.method === ACKNOWLEDGED) this.#acknowledged(link, message)
          else this.#tell(() => this.#place.router.tell(this.#conversation, link, message, this.#answer))
        },
        reply: () => this.#ended(link),
        fail: failure => this.#ended(link, failure),
      },
    )
  }

  /** The request for one target, without other targets' resources. Undefined if nothing remains. */
  #wantedOf(link: Link): Request | undefined {
    const { params } = this.#request
    const range = this.#outline.ranges.get('params.notifications')
    if (!isObject(params.notifications) || !range) return undefined
    const { resourceSubscriptions, ...flags } = params.notifications
    const uris = (Array.isArray(resourceSubscriptions) ? resourceSubscriptions : []).flatMap((uri: unknown) => {
      const own = typeof uri === 'string' ? this.#ownUri(link, uri) : undefined
      const allowed = own !== undefined && isAllowed(this.#answer.x, { kind: 'resource', name: own, target: link.name })
      return own === undefined ? [] : [allowed ? own : this.#decoyOf(own)]
    })
    const notifications = { ...flags, ...(uris.length === 0 ? {} : { resourceSubscriptions: uris }) }
    if (Object.keys(notifications).length === 0) return undefined
    const bytes = replaceJson(this.#request.bytes, range, notifications)
    return { ...this.#request, params: { ...params, notifications }, bytes }
  }

  /** The acknowledgment shows what the target does with a resource that it does not have. */
  #decoyOf(uri: string): string {
    const decoy = decoyOf(uri, this.#place.setup.runtime)
    this.#decoys.set(decoy, uri)
    return decoy
  }

  #ownUri(link: Link, uri: string): string | undefined {
    if (!this.#naming.uris) return uri
    const parts = splitUri(uri)
    return parts?.target === link.name ? parts.name : undefined
  }

  #acknowledged(link: Link, { params }: Notification): void {
    const accepted = isObject(params.notifications) ? params.notifications : {}
    for (const [name, value] of Object.entries(accepted)) {
      if (name !== 'resourceSubscriptions') this.#flags[name] = this.#flags[name] === true || value
      else if (Array.isArray(value)) {
        for (const uri of value as unknown[]) {
          if (typeof uri !== 'string') continue
          this.#uris.push(clientName('resource', link.name, this.#decoys.get(uri) ?? uri, this.#naming))
        }
      }
    }
    this.#agreed(link)
  }

  #agreed(link: Link): void {
    this.#agreeing.delete(link)
    if (this.#agreeing.size === 0) this.#begin()
  }

  #tell(say: () => void): void {
    if (!this.#held) say()
    else if (this.#held.length < MAX_HELD) this.#held.push(say)
  }

  #begin(): void {
    const held = this.#held
    if (!held || this.#answer.over) return
    this.#held = undefined
    const notifications: JsonObject = {
      ...this.#flags,
      ...(this.#uris.length === 0 ? {} : { resourceSubscriptions: this.#uris }),
    }
    const params = { notifications, _meta: { [META_SUBSCRIPTION]: this.#request.id } }
    this.#answer.event(JSON.stringify({ jsonrpc: '2.0', method: ACKNOWLEDGED, params }))
    for (const say of held) say()
  }

  /** FailClosed: the subscription needs all targets. */
  #ended(link: Link, failure?: TargetFailure): void {
    const { setup } = this.#place
    const { id } = this.#request
    this.#failed ??= failure
    this.#agreeing.delete(link)
    this.#listening.delete(link)
    if (this.#answer.over) return
    if (failure && !setup.failOpen) {
      this.#answer.failWith(id, failure)
      return
    }
    if (this.#agreeing.size > 0) return
    this.#begin()
    if (this.#listening.size > 0) return
    if (this.#failed && !setup.multiple) this.#answer.failWith(id, this.#failed)
    else {
      const result = { resultType: 'complete', _meta: { [META_SUBSCRIPTION]: id } }
      this.#answer.finalEvent(JSON.stringify({ jsonrpc: '2.0', id, result }))
    }
  }
}

import type { McpItem } from '../../http/exchange.ts'
import { isAllowed, unknownItem } from '../../mcp/authorization.ts'
import { decodeCursor } from '../../mcp/cursor.ts'
import { errorReply, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, type RpcError } from '../../mcp/errors.ts'
import { parseExact } from '../../mcp/exact-json.ts'
import { type JsonOutline, replaceJson, withJsonAt } from '../../mcp/json-outline.ts'
import { filteredPage, LIST_METHODS, listItems, mergedPage, privateReply } from '../../mcp/lists.ts'
import {
  isObject,
  type JsonObject,
  type Notification,
  notificationOf,
  type Request,
  type Response,
} from '../../mcp/message.ts'
import { type NamedItem, namedItem, renamed, valueAt } from '../../mcp/named-item.ts'
import { rewriteResult, rewriteServerMessage } from '../../mcp/rewrite.ts'
import type { Answer } from './answer.ts'
import { timeoutFor } from './connection.ts'
import type { Conversation } from './conversation.ts'
import type { Era } from './eras/era.ts'
import { type FanOutFailure, fanOut, type Reached, resultOf } from './fan-out.ts'
import { forwardRaw } from './forward.ts'
import { guardRequest, guardResponse, guardResult, isGuarded } from './guards.ts'
import { takeInventory } from './lists/inventory.ts'
import { decoyOf, KnownItems, reportsUnknown } from './lists/known-items.ts'
import { findOwner } from './lists/owner.ts'
import type { McpSetup } from './setup.ts'
import { answerFailure, INTRODUCTION, standInFor } from './sign-in/answers.ts'
import { withUser } from './sign-in/with-user.ts'
import type { Link } from './targets.ts'

/** News of a target that the user has signed in to since the session began. */
const CHANGED = notificationOf('notifications/tools/list_changed', {})
/** Target messages held until the session has an id. */
const MAX_HELD = 16

const SUBSCRIPTIONS: ReadonlySet<string> = new Set(['resources/subscribe', 'resources/unsubscribe'])

/** Routes a client's request, and its reply to `answer`. */
export class Router {
  readonly #setup: McpSetup
  readonly #versions: readonly string[]
  readonly #known: KnownItems

  constructor(setup: McpSetup, versions: readonly string[]) {
    this.#setup = setup
    this.#versions = versions
    this.#known = new KnownItems(setup.runtime.clock)
  }

  route(conversation: Conversation, request: Request, outline: JsonOutline, answer: Answer): void {
    const { method } = request
    answer.x.trace?.emit({ type: 'mcp', method })
    if (conversation.calls.get(request.id)) {
      answer.fail(400, request.id, { code: INVALID_REQUEST, message: 'a request with this id is in progress' })
      return
    }
    if (Object.hasOwn(LIST_METHODS, method)) {
      this.#list(conversation, request, outline, answer)
      return
    }
    const item = namedItem(request)
    if (item) {
      this.#item(conversation, request, outline, answer, item)
      return
    }
    if (!this.#setup.multiple) {
      const link = conversation.targets.links[0] as Link
      this.#guard(answer, request, [link], true, own => this.#pass(conversation, link, own, answer))
      return
    }
    if (conversation.era.forAll.has(method)) {
      const { links } = conversation.targets
      this.#guard(answer, request, links, true, own => this.#forAll(conversation, own, answer))
      return
    }
    conversation.era.refusals.unknownMethod(answer, request.id, method.slice(0, 64))
  }

  /**
   * Opens the session with all targets. `opened` runs before the reply goes out, and returns false if it has answered
   * itself; `then` runs afterwards.
   */
  introduce(
    conversation: Conversation,
    request: Request,
    answer: Answer,
    opened: () => boolean,
    then?: () => void,
  ): void {
    const { links } = conversation.targets
    answer.x.trace?.emit({ type: 'mcp', method: request.method })
    this.#guard(answer, request, links, true, own => {
      if (own !== request) conversation.greetWith?.(own)
      this.#introduce(conversation, own, answer, (reply, early) => {
        const names = links.map(({ name }) => name)
        guardResult(answer, own, names, reply, this.#setup.runtime.clock, guarded => {
          if (!opened()) return
          for (const bytes of early) answer.event(bytes)
          answer.finalEvent(guarded)
          then?.()
        })
      })
    })
  }

  #introduce(
    conversation: Conversation,
    request: Request,
    answer: Answer,
    done: (reply: Buffer, early: readonly Buffer[]) => void,
  ): void {
    const early: Buffer[] = []
    for (const link of conversation.targets.links) conversation.targets.connect(link)
    const how = { greets: true, hold: early, standIn: () => INTRODUCTION }
    this.#fanOut(conversation, request, answer, conversation.targets.links, how, reached => {
      for (const { link, response, standsIn } of reached) {
        if (standsIn) link.news = [CHANGED]
        else conversation.targets.introduced(link, response)
      }
      const first = reached[0]
      const introductions = reached.map(({ link, response }) => ({ target: link.name, result: resultOf(response) }))
      const { stateful, multiple } = this.#setup
      const about = { stateful, versions: this.#versions, only: !multiple }
      done(
        !multiple && first?.link.era === conversation.era && !first.standsIn
          ? first.response.bytes
          : Buffer.from(conversation.era.describe(request, introductions, about)),
        early,
      )
    })
  }

  #item(conversation: Conversation, request: Request, outline: JsonOutline, answer: Answer, item: NamedItem): void {
    const { kind, at } = item
    const range = outline.ranges.get(at)
    const given = valueAt(request.value, at)
    if (typeof given !== 'string' || !range) {
      answer.fail(400, request.id, {
        code: INVALID_PARAMS,
        message: `invalid request parameters: \`${at}\` must be a string`,
      })
      return
    }
    findOwner(this.#setup, conversation, { kind, given }, answer, owner => {
      const { x } = answer
      const hides = x.mcpRules.length > 0 && kind !== 'task'
      const refuse = (error: RpcError) => answer.fail(400, request.id, error)
      const unknown = () => refuse({ code: INVALID_PARAMS, message: unknownItem(kind, given) })
      if (!owner) {
        const [first] = conversation.targets.links
        const asked = { item, name: given, allowed: false }
        // Where rules hide items, the error must not reveal whether this one exists.
        const looked = this.#setup.lookUp && kind !== 'resource'
        if (hides && first && !looked) this.#known.check(conversation, first, asked, answer, unknown)
        else if (x.mcpRules.length > 0) unknown()
        else conversation.era.refusals.unknownName(answer, request.id, given.slice(0, 128))
        return
      }
      const { link, name } = owner
      const target = link.name
      if (x.mcp && kind !== 'task') x.mcp[kind] = { name, target }
      const own = name === given ? request : renamed(request, at, replaceJson(request.bytes, range, name), name)
      this.#withUser(conversation, link, own, answer, () =>
        this.#guard(answer, own, [link], true, sent => {
          // A guard may have replaced it.
          const wanted = sent === own ? name : String(valueAt(sent.value, at))
          const called = request.method === 'tools/call' ? { arguments: sent.params.arguments ?? {} } : {}
          if (x.mcp && kind !== 'task') x.mcp[kind] = { name: wanted, target }
          x.trace?.emit({ type: 'mcp', method: request.method, target, name: wanted })
          const allowed = isAllowed(x, { kind, name: wanted, target, ...called })
          const pass = (passed = sent) =>
            this.#pass(conversation, link, passed, answer, hides && kind === 'resource' ? unknown : undefined)
          const locked = (): void => {
            if (kind !== 'tool' || !this.#setup.toolGuard) pass()
            else {
              this.#setup.toolGuard.check(conversation, link, { name: wanted, given }, answer, refusal =>
                refusal ? refuse(refusal) : pass(),
              )
            }
          }
          if (!hides) allowed ? locked() : unknown()
          else if (!allowed && SUBSCRIPTIONS.has(request.method)) {
            const decoy = decoyOf(wanted, this.#setup.runtime)
            pass(renamed(sent, at, withJsonAt(sent.bytes, at, decoy), decoy))
          } else {
            const asked = { item, name: wanted, allowed }
            this.#known.check(conversation, link, asked, answer, usable => (usable ? locked() : unknown()))
          }
        }),
      )
    })
  }

  #withUser(conversation: Conversation, link: Link, request: Request, answer: Answer, then: () => void): void {
    const pass = () => this.#pass(conversation, link, request, answer)
    const tellNews = () => this.#tellNews(conversation, link, answer)
    withUser(conversation, link, request, answer, { pass, tellNews }, then)
  }

  #tellNews(conversation: Conversation, link: Link, answer: Answer): void {
    for (const news of link.news.splice(0)) this.tell(conversation, link, news, conversation.stream ?? answer)
  }

  #guard(
    answer: Answer,
    request: Request,
    links: readonly Link[],
    params: boolean,
    then: (request: Request) => void,
  ): void {
    const names = links.map(({ name }) => name)
    guardRequest(answer, request, names, { params, clock: this.#setup.runtime.clock }, then)
  }

  /** Forwards to one target, and its messages to the client. `unknown`: answers instead where the target does not know the item. */
  #pass(conversation: Conversation, link: Link, request: Request, answer: Answer, unknown?: () => void): void {
    conversation.targets.ready(link, answer.x, failure => {
      if (answer.over) return
      if (failure) return answerFailure(conversation, request, failure, answer)
      this.#tellNews(conversation, link, answer)
      const { era } = conversation
      const unread = !unknown && !this.#setup.multiple && !isGuarded(answer.x, request.method, 'response')
      if (unread && forwardRaw(conversation, link, request, answer)) return
      const toClient = (response: Response) => {
        const bytes = rewriteResult(link.name, response, this.#setup.naming)
        return unknown ? privateReply(bytes) : bytes
      }
      conversation.calls.start(link, request, answer, timeoutFor(answer.x), {
        flow: answer,
        position: (event, silent) => answer.at(link.name, event, silent),
        message: message => this.tell(conversation, link, message, answer),
        reply: response =>
          unknown && response.failed && reportsUnknown(response)
            ? unknown()
            : guardResponse(answer, request, link.name, response, this.#setup.runtime.clock, own =>
                finish(era, own, toClient(own), answer),
              ),
        fail: lost =>
          unknown && reportsUnknown(lost) ? unknown() : answerFailure(conversation, request, lost, answer),
      })
      answer.onLeave(() => conversation.calls.cancel(request.id))
    })
  }

  /** Guards inspect a list once, merged over all targets, as the client sees it. */
  #list(conversation: Conversation, request: Request, outline: JsonOutline, answer: Answer): void {
    const { links } = conversation.targets
    this.#guard(answer, request, links, false, () => this.#listed(conversation, request, outline, answer))
  }

  #listed(conversation: Conversation, request: Request, outline: JsonOutline, answer: Answer): void {
    const { multiple, naming, lookUp, toolGuard } = this.#setup
    const list = LIST_METHODS[request.method]
    if (!list) return
    const done = (page: string): void => {
      const names = conversation.targets.links.map(({ name }) => name)
      const { clock } = this.#setup.runtime
      guardResult(answer, request, names, Buffer.from(page), clock, own => answer.finalEvent(own))
    }
    const unread = answer.x.mcpRules.length === 0 && (list.kind !== 'tool' || !toolGuard)
    if (!multiple && !naming.names && unread) {
      this.#pass(conversation, conversation.targets.links[0] as Link, request, answer)
      return
    }
    if (lookUp && (request.method === 'tools/list' || request.method === 'prompts/list')) {
      takeInventory(this.#setup, conversation, request.method, answer, ({ items, pages, failed }) => {
        if (failed) this.#failed(conversation, request, answer, failed)
        else done(mergedPage(request.id, list, [...pages, conversation.era.pageMembers], items, new Map()))
      })
      return
    }
    const { cursor } = request.params
    const range = outline.ranges.get('params.cursor')
    const cursors = multiple && cursor !== undefined ? decodeCursor(cursor) : undefined
    if (multiple && cursor !== undefined && !cursors) {
      answer.fail(400, request.id, { code: INVALID_PARAMS, message: 'invalid request parameters: unknown cursor' })
      return
    }
    const offering = conversation.targets.links.filter(
      link => !link.capabilities || link.capabilities[list.capability] !== undefined,
    )
    const links = cursors ? offering.filter(link => cursors.has(link.name)) : offering
    if (offering.length === 0) {
      conversation.era.refusals.unknownMethod(answer, request.id, request.method)
      return
    }
    const own = (link: Link): Request => {
      const next = cursors?.get(link.name)
      return next === undefined || !range ? request : { ...request, bytes: replaceJson(request.bytes, range, next) }
    }
    this.#fanOut(conversation, request, answer, links, { own }, reached => {
      const next = new Map<string, string>()
      const items: JsonObject[] = []
      const pages: JsonObject[] = []
      for (const { link, response } of reached) {
        if (!multiple && response.failed) return answer.finalEvent(response.bytes)
        const exact = parseExact(response.bytes.toString()) as JsonObject
        const result = isObject(exact.result) ? exact.result : {}
        const allows = (item: McpItem) => isAllowed(answer.x, item)
        items.push(...listItems(list, { target: link.name, result }, naming, allows, toolGuard))
        if (typeof result.nextCursor === 'string') next.set(link.name, result.nextCursor)
        pages.push(result)
      }
      done(
        multiple
          ? mergedPage(request.id, list, [...pages, conversation.era.pageMembers], items, next)
          : filteredPage(request.id, list, pages[0] ?? {}, items),
      )
    })
  }

  #forAll(conversation: Conversation, request: Request, answer: Answer): void {
    this.#fanOut(conversation, request, answer, conversation.targets.links, {}, () => {
      answer.finalEvent(JSON.stringify({ jsonrpc: '2.0', id: request.id, result: {} }))
    })
  }

  #fanOut(
    conversation: Conversation,
    request: Request,
    answer: Answer,
    links: readonly Link[],
    how: {
      readonly greets?: boolean
      readonly hold?: Buffer[]
      readonly standIn?: () => JsonObject
      own?(link: Link): Request
    },
    done: (reached: readonly Reached[]) => void,
    failed?: () => void,
  ): void {
    fanOut(
      {
        conversation,
        links,
        answer,
        failClosed: !this.#setup.failOpen,
        greets: how.greets === true,
        standIn: how.standIn ?? (({ name }) => standInFor(request.method, name)),
        request: link => how.own?.(link) ?? request,
        message: (link, message) => {
          if (!how.hold) this.tell(conversation, link, message, answer)
          else if (how.hold.length < MAX_HELD)
            how.hold.push(rewriteServerMessage(link.name, message, this.#setup.naming))
        },
      },
      (reached, failure) => {
        if (answer.over) failed?.()
        else if (failure) {
          this.#failed(conversation, request, answer, failure)
          failed?.()
        } else done(reached)
      },
    )
  }

  #failed(conversation: Conversation, request: Request, answer: Answer, failed: FanOutFailure): void {
    if ('response' in failed) answer.finalEvent(failed.response.bytes)
    else answerFailure(conversation, request, failed.failure, answer)
  }

  /** Relays a message that a target initiated on the client's stream. */
  tell(conversation: Conversation, link: Link, message: Request | Notification, answer: Answer): void {
    if (message.kind === 'request' && !conversation.era.asksClients) {
      const error = { code: METHOD_NOT_FOUND, message: 'clients are not asked back' }
      link.connection?.send(answer.x, Buffer.from(errorReply(message.id, error)), () => {})
      return
    }
    if (message.method.endsWith('/list_changed')) {
      conversation.targets.inventory.clear()
      this.#setup.toolGuard?.forget(link.name)
      this.#known.forget(link.name)
    }
    answer.event(rewriteServerMessage(link.name, message, this.#setup.naming))
  }
}

/** An error with a status is sent as the response, as long as nothing was sent. */
function finish(era: Era, { failed, value: { error } }: Response, bytes: Buffer, answer: Answer): void {
  const status = failed && isObject(error) ? era.statuses.get(error.code) : undefined
  if (status === undefined || answer.started) answer.finalEvent(bytes)
  else answer.plain(status, ['content-type', 'application/json'], bytes)
}

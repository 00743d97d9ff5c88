import { METHOD_NOT_FOUND } from '../../mcp/errors.ts'
import {
  isObject,
  type JsonObject,
  type Notification,
  type Request,
  type Response,
  replyOf,
} from '../../mcp/message.ts'
import type { Answer } from './answer.ts'
import { type TargetFailure, timeoutInFanOut } from './connection.ts'
import type { Conversation } from './conversation.ts'
import { isAboutClient } from './http-connection.ts'
import type { Link } from './targets.ts'

export interface Reached {
  readonly link: Link
  readonly response: Response
  /** The gateway's, in place of a target that the user has not signed in to. */
  readonly standsIn?: true
}

export interface FanOut {
  readonly conversation: Conversation
  readonly links: readonly Link[]
  readonly answer: Answer
  /** The failure of one target fails the request. */
  readonly failClosed: boolean
  request(link: Link): Request
  message(link: Link, message: Request | Notification): void
  /** In place of a target that the user has not signed in to; if unset or undefined, that is a failure. */
  standIn?(link: Link): JsonObject | undefined
  /** The request is itself the handshake; otherwise targets that are not ready are connected first. */
  readonly greets: boolean
}

export type FanOutFailure = { readonly failure: TargetFailure } | { readonly response: Response }

/**
 * Sends a request to several targets. `done` gets the successful replies in the order of `links` once all have
 * answered, or the decisive failure: the first one where one fails all, otherwise the first if all have failed.
 * long: its parts share what has been heard so far
 */
export function fanOut(plan: FanOut, done: (reached: readonly Reached[], failed?: FanOutFailure) => void): void {
  const { links, answer } = plan
  const { targets, calls } = plan.conversation
  const replies = new Map<Link, Response>()
  const standIns = new Set<Link>()
  let missing = links.length
  let first: FanOutFailure | undefined
  let over = false
  if (missing === 0) {
    done([])
    return
  }
  const finish = (failed?: FanOutFailure): void => {
    if (over) return
    over = true
    for (const cancel of cancels) cancel()
    done(inOrder(links, replies, standIns), failed)
  }
  const settle = (failed?: FanOutFailure): void => {
    first ??= failed
    missing--
    if (failed && plan.failClosed) finish(failed)
    else if (missing === 0) finish(replies.size === 0 ? first : undefined)
  }
  const lost = (link: Link, failure: TargetFailure): void => {
    const instead = failure.need && plan.standIn?.(link)
    if (instead) {
      standIns.add(link)
      replies.set(link, replyOf(0, instead))
    }
    settle(instead ? undefined : { failure })
  }
  /** The target may be of another era. */
  const refused = (link: Link, failed: FanOutFailure): void => {
    targets.greetAnew(link, answer.x, agreed => {
      if (over) return
      if (agreed) replies.set(link, replyOf(0, link.introduction ?? {}))
      settle(agreed ? undefined : failed)
      if (!agreed && 'failure' in failed) targets.down(link, failed.failure)
    })
  }
  const cancels: (() => void)[] = []
  answer.onLeave(() => {
    over = true
    for (const cancel of cancels) cancel()
  })
  for (const link of links) {
    const start = (failure?: TargetFailure): void => {
      if (over) return
      if (failure || !link.connection) {
        lost(link, failure ?? { message: 'the target is down', down: true })
        return
      }
      const request = plan.request(link)
      cancels.push(() => calls.cancel(request.id))
      calls.start(link, request, answer, timeoutInFanOut(answer.x), {
        flow: answer,
        message: message => plan.message(link, message),
        reply: response => {
          if (response.failed && plan.greets) return refused(link, { response })
          if (response.failed && !lacksMethod(response)) return settle({ response })
          replies.set(link, response)
          settle()
        },
        fail: failure => {
          if (plan.greets && isRefusal(failure)) return refused(link, { failure })
          lost(link, failure)
          if (plan.greets && !failure.need) targets.down(link, failure)
        },
      })
    }
    if (plan.greets) start()
    else targets.ready(link, answer.x, start)
  }
}

function inOrder(links: readonly Link[], replies: ReadonlyMap<Link, Response>, standIns: ReadonlySet<Link>): Reached[] {
  return links.flatMap(link => {
    const response = replies.get(link)
    return response ? [{ link, response, ...(standIns.has(link) ? { standsIn: true as const } : {}) }] : []
  })
}

/** The target is reachable, and rejects this handshake. */
function isRefusal({ http }: TargetFailure): boolean {
  return http !== undefined && http.status >= 400 && http.status < 500 && !isAboutClient(http.status)
}

/** A target that does not support a list contributes nothing to it. */
function lacksMethod(response: Response): boolean {
  return isObject(response.value.error) && response.value.error.code === METHOD_NOT_FOUND
}

/** Empty if the target does not support the method. */
export function resultOf(response: Response): JsonObject {
  return isObject(response.value.result) ? response.value.result : {}
}

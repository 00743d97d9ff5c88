import type { Exchange } from '../../http/exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import type { Notification, Request, RequestId, Response } from '../../mcp/message.ts'
import type { Need } from './sign-in/need.ts'

/** A sink for messages, with back-pressure. */
export interface Flow {
  readonly full: boolean
  /** Runs `then` once it accepts messages again. */
  onRoom(then: () => void): void
}

export interface TargetFailure {
  /** Shown to the client: no address, no path. */
  readonly message: string
  /** The target's HTTP error response, which is passed on unchanged. */
  readonly http?: { readonly status: number; readonly headers: HeaderList; readonly body: Buffer }
  /** The target as a whole failed, not only the call: it is unreachable, has ended, or has lost its session. */
  readonly down: boolean
  /** The message was not delivered, or the connection broke. */
  readonly unreachable?: boolean
  /** The user has to sign in at the target first. */
  readonly need?: Need
}

/** The events of a call: any number of messages, then exactly one of `reply` and `fail`. */
export interface CallEvents {
  readonly flow: Flow
  /**
   * The id of the target's next event: the stream can be resumed after it. `silent`: no event follows, the target only
   * reports its position.
   */
  position?(event: string, silent: boolean): void
  message(message: Request | Notification): void
  reply(message: Response): void
  fail(failure: TargetFailure): void
}

/** Unsolicited messages of a target. */
export interface ListenEvents {
  readonly flow: Flow
  /** As for calls. */
  position?(event: string, silent: boolean): void
  /** The target accepted the stream. */
  open(): void
  message(message: Request | Notification): void
  /** The stream ended; with `failure` if the target refused it, status 405 if it supports none. */
  end(failure?: TargetFailure): void
}

/** How long a target may stay silent on a call before it fails. */
export interface Patience {
  /** ms; 0 for no limit. */
  readonly ms: number
  /** The time limits the reply itself. Otherwise any message about the call restarts it. */
  readonly untilReply: boolean
}

/** ms for calls that fan out: one silent target must not delay the others. */
const FOR_ALL = 30_000
/** Of the route's time limit. */
const SHARE = 0.8

export const SILENT: TargetFailure = { message: 'the target has not answered in time', down: false }

/** For a call on one target: the timeout of the route. */
export function timeoutFor(x: Exchange): Patience {
  return { ms: x.attempts.at(-1)?.timeout ?? 0, untilReply: false }
}

/** For one target's share of a fan-out. */
export function timeoutInFanOut(x: Exchange): Patience {
  // Less than the route's limit, which would end the whole answer.
  const limits = [x.attempts.at(-1)?.timeout, x.timeLimit].filter(limit => limit !== undefined && limit > 0) as number[]
  return { ms: limits.length > 0 ? Math.ceil(Math.min(...limits) * SHARE) : FOR_ALL, untilReply: true }
}

/** Cancels a call: it emits no further events. `told`: the client has already notified the target. */
export type Cancel = (told?: boolean) => void

/** One client's session with one target, over any transport. */
export interface Connection {
  /** The session id assigned by the target. */
  readonly session: string | undefined
  /** The revision negotiated in `initialize`. */
  version: string | undefined
  call(x: Exchange, request: Request, events: CallEvents): Cancel
  /** Sends a notification, or the client's response to the target; `done` once it is delivered. */
  send(x: Exchange, bytes: Buffer, done: (failure?: TargetFailure) => void): void
  /** Opens the target's stream, after its event `after` where the target knows it. */
  listen(x: Exchange, events: ListenEvents, after?: string): () => void
  /** Resumes the stream of a call made elsewhere. Undefined if the target does not support that. */
  readonly resume?: (x: Exchange, id: RequestId, after: string, events: CallEvents) => Cancel
  /**
   * Returns a promise, which never rejects, if the target needs time to end. `elsewhere`: the session continues without
   * this gateway, so a target that keeps its own session is not notified.
   */
  close(elsewhere?: boolean): Promise<void> | undefined
}

/** ms for the rest of a response whose result is known, or that is an error. */
export const REST = 10_000

/** Messages may be large, but a target must not exhaust memory. */
export const MAX_MESSAGE: number = 64 * 1024 * 1024

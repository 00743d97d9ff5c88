import type { Exchange } from '../../http/exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import type { Notification, Request, RequestId, Response } from '../../mcp/message.ts'

/** Where messages go; says when it has had enough for now. */
export interface Flow {
  readonly full: boolean
  /** Runs `then` once there is room again. */
  onRoom(then: () => void): void
}

export interface TargetFailure {
  /** In words, for the client; no address, no path. */
  readonly message: string
  /** The target refused over HTTP: what it answered is passed on as it is. */
  readonly http?: { readonly status: number; readonly headers: HeaderList; readonly body: Buffer }
  /** The target cannot be reached, has ended, or knows its session no more: it fails, not the single call. */
  readonly down: boolean
  /** The message did not reach it, or the connection broke. */
  readonly unreachable?: boolean
}

/** What follows a call: any number of messages, then exactly one of `reply` and `fail`. */
export interface CallEvents {
  readonly flow: Flow
  /**
   * The id of the target's event that comes next: the stream can be taken up after it. `silent`: nothing comes, the
   * target only says where the stream stands.
   */
  position?(event: string, silent: boolean): void
  message(message: Request | Notification): void
  reply(message: Response): void
  fail(failure: TargetFailure): void
}

/** What a target says by itself. */
export interface ListenEvents {
  readonly flow: Flow
  /** As for calls. */
  position?(event: string, silent: boolean): void
  /** The target has such a stream. */
  open(): void
  message(message: Request | Notification): void
  /** The stream is over; `failure` when the target refused it, with status 405 when it has none. */
  end(failure?: TargetFailure): void
}

/** How long a target may be silent about a call before it fails. */
export interface Patience {
  /** ms; 0: for ever. */
  readonly ms: number
  /** Its reply must come within that time; otherwise anything that it says about the call. */
  readonly untilReply: boolean
}

/** ms for what everybody waits for: one silent target must not hold the others. */
const FOR_ALL = 30_000

export const SILENT: TargetFailure = { message: 'the target has not answered in time', down: false }

/** For a call on one target: the time that the route gives it. */
export function patienceFor(x: Exchange): Patience {
  return { ms: x.attempts.at(-1)?.timeout ?? 0, untilReply: false }
}

/** For a part of what several targets are asked. */
export function patienceAmongOthers(x: Exchange): Patience {
  return { ms: x.attempts.at(-1)?.timeout || FOR_ALL, untilReply: true }
}

/** Ends a call: nothing more is heard of it then. `told`: the client has already told the target. */
export type Cancel = (told?: boolean) => void

/** One client's session with one target, whatever carries it. */
export interface Connection {
  /** The session id that the target gave. */
  readonly session: string | undefined
  /** The revision that the target agreed to in `initialize`. */
  version: string | undefined
  call(x: Exchange, request: Request, events: CallEvents): Cancel
  /** A notification, or the client's answer to the target; `done` when the target has it. */
  send(x: Exchange, bytes: Buffer, done: (failure?: TargetFailure) => void): void
  /** Where the target knows its event `after`, from there on. */
  listen(x: Exchange, events: ListenEvents, after?: string): () => void
  /** Takes up the stream of a call that began elsewhere; undefined where the target keeps none. */
  readonly resume?: (x: Exchange, id: RequestId, after: string, events: CallEvents) => Cancel
  /**
   * A promise, which never rejects, where the target needs time to end. `elsewhere`: the session goes on without this
   * gateway, so that a target which keeps it by itself hears nothing.
   */
  close(elsewhere?: boolean): Promise<void> | undefined
}

/** ms for what still comes of an answer that is known already, or is an error. */
export const REST = 10_000

/** A message may be large, but a target must not fill the memory. */
export const MAX_MESSAGE: number = 64 * 1024 * 1024

import type { Message, Notification, Request, RequestId } from '../../mcp/message.ts'
import { isObject } from '../../mcp/message.ts'
import { META_SUBSCRIPTION } from '../../mcp/request-meta.ts'
import type { CallEvents, Flow, ListenEvents, TargetFailure } from './connection.ts'

/** Bytes of messages queued for a client without an open stream; later messages are dropped. */
const MAX_QUEUE = 1024 * 1024

/** Bytes of messages queued for a client that does not read while other clients' calls are in flight. */
const MAX_BEHIND = 16 * 1024 * 1024
const UNREAD: TargetFailure = { message: 'the client does not read its stream', down: false }

/** Notifications that no call causes. */
const CHANGES = /^notifications\/(.*\/list_changed|resources\/updated)$/

/** The source of the messages. */
export interface Reading {
  pause(): void
  resume(): void
}

interface Pending {
  readonly events: CallEvents
  readonly token: RequestId | undefined
  /** Its stream carries only messages that identify it. */
  readonly tagged: boolean
}

/**
 * Assigns the messages of one stream to calls: replies by id, progress by token. The stream does not show which call a
 * server's request or other notification belongs to, so those go to the latest call: it is open, and a client accepts
 * messages on any stream. A client that does not read delays only itself.
 */
export class SharedChannel {
  readonly #pending = new Map<RequestId, Pending>()
  #listener: ListenEvents | undefined
  #queue: (Request | Notification)[] = []
  #queued = 0
  readonly #reading: Reading
  /** Recipients that exert back-pressure, and the bytes sent to them since. */
  readonly #behind = new Map<Flow, number>()
  #waitsFor: Flow | undefined

  constructor(reading: Reading) {
    this.#reading = reading
  }

  /** False if a call with this id is in flight. */
  add(request: Request, events: CallEvents): boolean {
    if (this.#pending.has(request.id)) return false
    const meta = request.params._meta
    const token = isObject(meta) ? meta.progressToken : undefined
    this.#pending.set(request.id, {
      events,
      token: typeof token === 'string' || typeof token === 'number' ? token : undefined,
      tagged: request.method === 'subscriptions/listen',
    })
    if (this.#waitsFor && this.#waitsFor !== events.flow) this.#goOn()
    return true
  }

  remove(id: RequestId): boolean {
    return this.#pending.delete(id)
  }

  fail(id: RequestId, failure: TargetFailure): void {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    pending?.events.fail(failure)
  }

  deliver(message: Message): void {
    if (message.kind === 'response') {
      const pending = message.id === null ? undefined : this.#pending.get(message.id)
      this.#pending.delete(message.id as RequestId)
      pending?.events.reply(message)
      return
    }
    const general = CHANGES.test(message.method) ? this.#listener : undefined
    const to = general ?? this.#ownerOf(message) ?? this.#last() ?? this.#listener
    if (!to) {
      this.#keep(message)
      return
    }
    to.message(message)
    if (to.flow.full) this.#full(to, message.bytes.length)
  }

  listen(events: ListenEvents): () => void {
    this.#listener?.end()
    this.#listener = events
    events.open()
    const queue = this.#queue
    this.#queue = []
    this.#queued = 0
    for (const message of queue) events.message(message)
    return () => {
      if (this.#listener === events) this.#listener = undefined
    }
  }

  failAll(failure: TargetFailure): void {
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    for (const { events } of pending) events.fail(failure)
    const listener = this.#listener
    this.#listener = undefined
    listener?.end()
  }

  #full(to: CallEvents | ListenEvents, bytes: number): void {
    const { flow } = to
    const behind = this.#behind.get(flow)
    this.#behind.set(flow, (behind ?? 0) + bytes)
    if (behind === undefined) {
      flow.onRoom(() => {
        this.#behind.delete(flow)
        if (this.#waitsFor === flow) this.#goOn()
      })
    }
    if (![...this.#pending.values()].some(({ events }) => events.flow !== flow)) {
      this.#waitsFor = flow
      this.#reading.pause()
    } else if ((behind ?? 0) + bytes > MAX_BEHIND) this.#giveUp(to)
  }

  #goOn(): void {
    this.#waitsFor = undefined
    this.#reading.resume()
  }

  #giveUp(to: CallEvents | ListenEvents): void {
    if (to === this.#listener) {
      this.#listener = undefined
      to.end(UNREAD)
    } else for (const [id, { events }] of [...this.#pending]) if (events === to) this.fail(id, UNREAD)
  }

  #keep(message: Request | Notification): void {
    if (this.#queued + message.bytes.length > MAX_QUEUE) return
    this.#queued += message.bytes.length
    this.#queue.push(message)
  }

  #ownerOf(message: Request | Notification): CallEvents | undefined {
    const subscription = isObject(message.params._meta) ? message.params._meta[META_SUBSCRIPTION] : undefined
    if (subscription !== undefined) return this.#pending.get(subscription as RequestId)?.events
    if (message.method !== 'notifications/progress') return undefined
    const token = message.params.progressToken
    for (const pending of this.#pending.values()) if (pending.token === token) return pending.events
    return undefined
  }

  #last(): CallEvents | undefined {
    let last: Pending | undefined
    for (const pending of this.#pending.values()) if (!pending.tagged) last = pending
    return last?.events
  }
}

// Sessions of the Realtime API: messages over a WebSocket, in both directions, as long as the client is connected.
import { isUtf8 } from 'node:buffer'
import { Duplex } from 'node:stream'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange, LlmFacts } from '../../../http/exchange.ts'
import { keepChunk } from '../../../http/keep-chunk.ts'
import { handlerAround, type ResponseHandler } from '../../../http/transport.ts'
import { FrameReader, frameOf, type MessagePart, OPCODES } from '../../../http/websocket-frames.ts'
import { isObject, type JsonObject } from '../../../llm/chat/json.ts'
import { realtimeTexts } from '../../../llm/formats/realtime/texts.ts'
import { responseUsage, sessionModel, sumOf } from '../../../llm/formats/realtime/usage.ts'
import type { Guards, Refusal } from '../../../llm/guards/guard.ts'
import { guardRequest } from '../../../llm/guards/guard-body.ts'
import { RealtimeGuard } from '../../../llm/guards/realtime-guard.ts'
import type { GuardCall } from '../../../llm/guards/run-guards.ts'
import { JsonBody } from '../../../llm/json-body.ts'
import { type Usage, UsageRecorder } from '../../../llm/usage.ts'
import { GUARDED_LIMIT } from '../guarded/guarded-stream.ts'

export interface RealtimeContext {
  readonly facts: LlmFacts
  /** The exchange whose token limits apply to the session. */
  readonly client: Exchange
  readonly guards: Guards | undefined
  readonly call: GuardCall
  /** Reports what is known of the session so far. */
  tell(): void
}

/** Follows a session: its usage, and its messages where guards inspect them. */
export function followSession(ctx: RealtimeContext, on: ResponseHandler): ResponseHandler {
  return handlerAround(on, {
    upgrade(status, headers, socket) {
      if (headers.has('sec-websocket-extensions')) {
        socket.destroy()
        on.fail(new GatewayError('upgradeFailed', { detail: 'an extension that was not requested' }))
        return
      }
      const looked = ctx.guards !== undefined || ctx.client.tokenLimits !== undefined
      on.upgrade?.(status, headers, looked ? new LookedSession(socket, ctx) : new Session(socket, ctx))
    },
  })
}

/** Bytes of a message that is parsed where the session is only observed; longer ones are skipped. */
const WATCHED = 1024 * 1024

/** Close codes (RFC 6455 section 7.4.1). */
const CLOSE = { protocol: 1002, data: 1003, text: 1007, policy: 1008, size: 1009, broken: 1011 } as const

/** The provider's end as the client sees it: bytes pass unchanged, and usage is recorded. */
class Session extends Duplex {
  protected readonly socket: Duplex
  protected readonly ctx: RealtimeContext
  readonly #recorder: UsageRecorder
  #frames: FrameReader | undefined = new FrameReader()
  readonly #message = new Message(WATCHED)
  #used: Usage = {}

  constructor(socket: Duplex, ctx: RealtimeContext) {
    super({ allowHalfOpen: true })
    this.socket = socket
    this.ctx = ctx
    this.#recorder = new UsageRecorder(ctx.facts, 'included')
    ctx.facts.streaming = true
    socket.on('data', (chunk: Buffer) => this.fromProvider(chunk))
    socket.on('end', () => this.providerEnded())
    socket.on('error', error => this.destroy(error))
    socket.on('close', () => {
      if (!socket.readableEnded) this.destroy()
    })
  }

  override _read(): void {
    this.socket.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.socket.write(chunk)) done()
    else this.socket.once('drain', done)
  }

  override _final(done: () => void): void {
    this.socket.end(done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.socket.destroy()
    done(error)
  }

  protected fromProvider(chunk: Buffer): void {
    try {
      for (const part of this.#frames?.read(chunk) ?? []) {
        const message = this.#message.take(part)
        if (message?.opcode === OPCODES.text) this.note(message.data.toString('utf8'))
      }
    } catch {
      // The client cannot parse this either, and handles it by itself.
      this.#frames = undefined
    }
    if (!this.push(chunk)) this.socket.pause()
  }

  protected providerEnded(): void {
    this.push(null)
  }

  /** Records a provider event. Returns the tokens it reports as used, undefined if none. */
  protected note(text: string): number | undefined {
    if (!NOTED.test(text)) return undefined
    let event: unknown
    try {
      event = JSON.parse(text)
    } catch {
      return undefined
    }
    if (!isObject(event)) return undefined
    const model = sessionModel(event)
    if (model !== undefined) this.ctx.facts.responseModel = model
    const usage = responseUsage(event)
    if (usage === undefined) return undefined
    this.#used = sumOf(this.#used, usage)
    this.#recorder.add(this.#used)
    this.ctx.tell()
    return (usage.input ?? 0) + (usage.output ?? 0)
  }
}

const NOTED = /"(?:response\.done|session\.(?:created|updated))"/

/** A session in which every message is read before it is forwarded: masked, rejected, or counted against a budget. */
class LookedSession extends Session {
  readonly #fromClient = new FrameReader({ masked: true })
  readonly #fromProvider = new FrameReader()
  readonly #asked = new Message(GUARDED_LIMIT)
  readonly #said = new Message(GUARDED_LIMIT)
  readonly #guard: RealtimeGuard | undefined
  /** Provider messages queued behind events that guards are still inspecting. */
  #behind: (() => void)[] = []
  #room = true
  #closed = false

  constructor(socket: Duplex, ctx: RealtimeContext) {
    super(socket, ctx)
    const streamed = ctx.guards?.streamed ?? []
    if (streamed.length === 0) return
    this.#guard = new RealtimeGuard(streamed, ctx.call, {
      send: text => this.#toClient(OPCODES.text, Buffer.from(text)),
      refuse: (reason, id) => this.#refuseResponse(reason, id),
      resume: () => this.#goOn(),
    })
  }

  override _read(): void {
    this.#room = true
    this.#goOn()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#takeAsked(chunk).then(
      () => done(),
      (error: Error) => {
        this.#close(closeCode(error), error.message)
        done()
      },
    )
  }

  protected override fromProvider(chunk: Buffer): void {
    if (this.#closed) return
    try {
      for (const part of this.#fromProvider.read(chunk)) {
        const message = this.#said.take(part)
        if (message) this.#takeSaid(message)
      }
    } catch (error) {
      this.#close(closeCode(error as Error), (error as Error).message)
    }
    this.#hold()
  }

  protected override providerEnded(): void {
    this.#after(() => this.#end())
  }

  /** Strictly in order of arrival. */
  async #takeAsked(chunk: Buffer): Promise<void> {
    for (const part of this.#closed ? [] : this.#fromClient.read(chunk)) {
      const message = this.#asked.take(part)
      if (message === undefined) continue
      const { opcode, data } = message
      if (opcode >= OPCODES.close) await this.#toProvider(opcode, data)
      else if (this.ctx.guards === undefined || this.ctx.guards.request.length === 0)
        await this.#toProvider(opcode, data)
      else if (opcode === OPCODES.binary) throw new SessionError(CLOSE.data, 'binary messages cannot be inspected')
      else await this.#askGuards(data, this.ctx.guards)
      if (this.#closed) return
    }
  }

  async #askGuards(data: Buffer, { request }: Guards): Promise<void> {
    if (!isUtf8(data)) throw new SessionError(CLOSE.text, 'a message that is not UTF-8')
    const body = JsonBody.parse(data)
    if (body === undefined) {
      this.#say(errorEvent('invalid_request_error', 'invalid_json', 'an event is a JSON object'))
      return
    }
    const about = body.get('event_id')
    try {
      const refusal = await guardRequest(request, body, realtimeTexts, true, this.ctx.call)
      if (refusal === undefined) await this.#toProvider(OPCODES.text, body.bytes())
      else this.#say(errorEvent('guardrail_blocked', 'guardrail_intervention', refusal.body, about))
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      this.#say(errorEvent('server_error', 'guard_failed', error.message, about))
    }
  }

  #takeSaid({ opcode, data }: Heard): void {
    if (opcode === OPCODES.ping || opcode === OPCODES.pong) {
      this.#toClient(opcode, data)
      return
    }
    if (opcode !== OPCODES.text) {
      if (opcode === OPCODES.binary && this.#guard) {
        throw new SessionError(CLOSE.broken, 'the provider sent a message that cannot be inspected')
      }
      this.#after(() => this.#toClient(opcode, data))
      return
    }
    const text = data.toString('utf8')
    const used = this.note(text)
    if (this.#guard) this.#guard.push(text)
    else this.#toClient(opcode, data)
    if (used !== undefined) this.#spend(used)
  }

  /** A session that exhausts its budget is closed, just as the next request would be refused. */
  #spend(used: number): void {
    const { client } = this.ctx
    client.tokensTaken += used
    for (const limit of client.tokenLimits ?? []) {
      const left = limit.spend(used)
      if (left instanceof Promise) left.then(left => left || this.#exhausted()).catch(error => this.destroy(error))
      else if (!left) this.#exhausted()
    }
  }

  #exhausted(): void {
    this.#after(() => {
      if (this.#closed) return
      this.ctx.client.reason = 'RateLimit'
      this.#say(errorEvent('rate_limit_error', 'rate_limit_exceeded', 'rate limit exceeded'))
      this.#close(CLOSE.policy, 'rate limit exceeded')
    })
  }

  #refuseResponse(reason: Refusal | Error, id: string | undefined): void {
    const failed = reason instanceof Error
    this.ctx.client.reason = 'Guardrail'
    this.#say(
      failed
        ? errorEvent('server_error', 'guard_failed', 'the reply could not be checked')
        : errorEvent('guardrail_blocked', 'guardrail_intervention', reason.body),
    )
    if (id === undefined) return
    // Clients wait for a response to end.
    const details = { type: 'cancelled', reason: 'guardrail' }
    const response = { object: 'realtime.response', id, status: 'cancelled', status_details: details, output: [] }
    this.#say({ type: 'response.done', event_id: `event_refused_${id}`, response })
    const cancel = Buffer.from(JSON.stringify({ type: 'response.cancel', response_id: id }))
    this.socket.write(frameOf(OPCODES.text, true, cancel))
  }

  #say(event: JsonObject): void {
    this.#toClient(OPCODES.text, Buffer.from(JSON.stringify(event)))
  }

  #toClient(opcode: number, data: Buffer): void {
    if (!this.#closed && !this.push(frameOf(opcode, false, data))) this.#room = false
  }

  #toProvider(opcode: number, data: Buffer): Promise<void> | undefined {
    if (this.#closed || this.socket.write(frameOf(opcode, true, data))) return undefined
    return new Promise(resolve => {
      this.socket.once('drain', resolve)
      this.socket.once('close', resolve)
    })
  }

  /** Runs once the guards are done with everything received so far. */
  #after(then: () => void): void {
    if (this.#guard?.waits) this.#behind.push(then)
    else then()
  }

  #goOn(): void {
    if (this.#guard?.waits) return
    const behind = this.#behind
    this.#behind = []
    for (const then of behind) then()
    if (this.#room) this.socket.resume()
  }

  #hold(): void {
    if (!this.#room || this.#guard?.waits) this.socket.pause()
  }

  /** Closes both sides with a code and a reason. */
  #close(code: number, why: string): void {
    if (this.#closed) return
    const word = Buffer.alloc(2)
    word.writeUInt16BE(code)
    const text = Buffer.from(why).subarray(0, 100)
    this.#toClient(OPCODES.close, Buffer.concat([word, text]))
    this.socket.end(frameOf(OPCODES.close, true, word))
    this.#end()
  }

  #end(): void {
    if (this.#closed) return
    this.#closed = true
    this.push(null)
  }
}

interface Heard {
  readonly opcode: number
  readonly data: Buffer
}

class SessionError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

function closeCode(error: Error): number {
  return error instanceof SessionError ? error.code : CLOSE.protocol
}

/** Reassembles messages from frames. */
class Message {
  readonly #limit: number
  #parts: Buffer[] = []
  #size = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** The message that this frame completes, if any. Throws if it is too long. */
  take({ opcode, last, data }: MessagePart): Heard | undefined {
    if (opcode >= OPCODES.close) return { opcode, data }
    this.#size += data.length
    if (this.#size > this.#limit) {
      if (this.#limit === GUARDED_LIMIT) throw new SessionError(CLOSE.size, 'a message that is too long')
      this.#parts = []
    } else if (data.length > 0) keepChunk(this.#parts, data)
    if (!last) return undefined
    const parts = this.#parts
    const whole = this.#size <= this.#limit
    this.#parts = []
    this.#size = 0
    return whole ? { opcode, data: parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts) } : undefined
  }
}

/** `about`: the client's event. */
function errorEvent(type: string, code: string, message: string, about?: unknown): JsonObject {
  const id = typeof about === 'string' ? about : null
  return { type: 'error', event_id: `event_${code}`, error: { type, code, message, param: null, event_id: id } }
}

import { GatewayError } from '../../../http/errors.ts'
import type { HeaderList } from '../../../http/headers.ts'
import { SseReader } from '../../../http/sse.ts'
import type { ChunkSink, ResponseHandler } from '../../../http/transport.ts'
import type { Format } from '../../../llm/formats/format.ts'
import { FrameReader, writeFrames } from '../../../llm/framing/event-stream-frames.ts'
import { AskingStage } from '../../../llm/guards/asking-stage.ts'
import type { FormatTexts } from '../../../llm/guards/format-texts.ts'
import type { Guard, Refusal } from '../../../llm/guards/guard.ts'
import { MaskingStage, type StageOutput, type StreamStage } from '../../../llm/guards/masking-stage.ts'
import { type GuardCall, guardFailure, refusalError } from '../../../llm/guards/run-guards.ts'
import { encodeEvent, readEvent, type StreamEvent, textOf } from '../../../llm/guards/stream-event.ts'
import { textsOf } from '../../../llm/guards/texts.ts'
import { errorInDialect } from '../reply-context.ts'

/** Bytes of a response that is guarded whole, and of one event of a stream. */
export const GUARDED_LIMIT = 32 * 1024 * 1024

export interface GuardedReplyContext {
  /** For whole responses and for streamed ones. */
  readonly whole: readonly Guard[]
  readonly streamed: readonly Guard[]
  readonly texts: FormatTexts
  readonly format: Format
  readonly call: GuardCall
  /** The client requested a stream. */
  readonly streaming: boolean
  /** Cancels the call to the provider. */
  cancel(): void
}

/** Headers that describe the original body, not the one that the client gets. */
export const BODY_DIGESTS = ['content-length', 'content-md5', 'digest', 'content-digest', 'repr-digest', 'etag']

/** Terminates an event that lacks its blank line. */
const LAST_LINE = Buffer.from('\n\n')

/**
 * A guarded stream. Its head waits for the first event that passes: a rejection before that gets a status of its own, a
 * later one ends the stream with an error in the client's format.
 */
export class GuardedStream implements ChunkSink {
  readonly #ctx: GuardedReplyContext
  readonly #on: ResponseHandler
  readonly #status: number
  readonly #headers: HeaderList
  readonly #reader: SseReader | FrameReader
  readonly #stages: StreamStage[] = []
  #client: ChunkSink | undefined
  #drained: (() => void) | undefined
  #text = ''
  /** Response content has been sent: until then a rejection can still have a status. */
  #spoke = false
  /** The next sequence number, for formats that number their events. */
  #sequence: number | undefined
  #read = 0
  #size = 0
  #over = false

  constructor(ctx: GuardedReplyContext, on: ResponseHandler, status: number, headers: HeaderList) {
    this.#ctx = ctx
    this.#on = on
    this.#status = status
    this.#headers = headers
    this.#reader = ctx.format.framed
      ? new FrameReader(GUARDED_LIMIT, ({ name, data }) =>
          this.#take('message', `{${JSON.stringify(name ?? '')}:${data || '{}'}}`),
        )
      : new SseReader(GUARDED_LIMIT, ({ event, data }) => this.#take(event, data.toString('utf8')))
    let out: StageOutput = { next: event => this.#write(event), done: () => this.#finish() }
    for (const guard of ctx.streamed.toReversed()) {
      const stage: StreamStage = guard.mask
        ? new MaskingStage(guard, guard.mask.bind(guard), ctx.texts, ctx.call, out)
        : new AskingStage(guard, ctx.texts, ctx.call, {
            ...out,
            stop: reason => this.#stop(reason),
            resume: () => this.#resume(),
          })
      this.#stages.unshift(stage)
      out = { next: event => stage.push(event), done: () => stage.end() }
    }
  }

  write(chunk: Buffer): boolean {
    if (this.#over) return true
    this.#size += chunk.length
    try {
      this.#reader.push(chunk)
    } catch (error) {
      this.#stop(error as Error)
      return true
    }
    const room = this.#send()
    return room && !this.#waits()
  }

  end(): void {
    if (this.#over) return
    try {
      if (this.#reader instanceof SseReader) this.#reader.push(LAST_LINE)
      else if (this.#reader.partial) throw new SyntaxError('a frame that is cut')
      if (this.#over) return
      if (this.#read === 0 && this.#size > 0) throw new SyntaxError('a stream without events')
      this.#stages[0]?.end()
      this.#send()
    } catch (error) {
      this.#stop(error as Error)
    }
  }

  fail(error: Error): void {
    if (this.#over) return
    this.#leave()
    this.#text = ''
    if (this.#client) this.#client.fail(error)
    else this.#on.fail(errorInDialect(this.#ctx.format.errors, error))
  }

  onDrain(then: () => void): void {
    this.#drained = then
    this.#client?.onDrain(() => this.#resume())
  }

  #take(name: string, data: string): void {
    if (this.#over) return
    this.#read++
    this.#stages[0]?.push(readEvent(this.#ctx.texts, name, data))
  }

  #waits(): boolean {
    return this.#stages.some(stage => stage.waits)
  }

  #resume(): void {
    if (this.#over) return
    if (this.#send() && !this.#waits()) this.#drained?.()
  }

  #write(event: StreamEvent): void {
    if (this.#over) return
    const { value } = event
    if (typeof value?.sequence_number === 'number') {
      this.#sequence = (this.#sequence ?? value.sequence_number - 1) + 1
      if (value.sequence_number !== this.#sequence) {
        value.sequence_number = this.#sequence
        event.texts.rewritten = true
      }
    }
    const { pieces, wholes, closed } = event.texts
    this.#spoke ||= closed.length > 0 || [...textsOf(wholes.messages), ...pieces.map(({ text }) => text)].some(Boolean)
    this.#text += this.#ctx.format.framed ? `${textOf(event).replaceAll(/[\r\n]/g, ' ')}\n` : encodeEvent(event)
  }

  /** False: the client exerts back-pressure. */
  #send(): boolean {
    if (this.#text === '' || !this.#spoke) return true
    const client = this.#client ?? this.#begin()
    const bytes = this.#ctx.format.framed ? writeFrames(this.#text) : Buffer.from(this.#text)
    this.#text = ''
    return client.write(bytes)
  }

  #begin(): ChunkSink {
    for (const name of BODY_DIGESTS) this.#headers.delete(name)
    this.#client = this.#on.head(this.#status, this.#headers)
    this.#client.onDrain(() => this.#resume())
    return this.#client
  }

  #finish(): void {
    if (this.#over) return
    this.#spoke = true
    this.#send()
    this.#over = true
    const client = this.#client ?? this.#begin()
    client.end()
  }

  #leave(): void {
    this.#over = true
    for (const stage of this.#stages) stage.leave()
  }

  #stop(reason: Refusal | Error): void {
    if (this.#over) return
    this.#leave()
    const { cancel, call } = this.#ctx
    const { errors } = this.#ctx.format
    cancel()
    const error = reason instanceof Error ? (reason instanceof GatewayError ? reason : guardFailure(reason)) : undefined
    const refusal = reason instanceof Error ? undefined : reason
    if (this.#client === undefined && !this.#spoke) {
      this.#on.fail(refusal ? refusalError(refusal) : errorInDialect(errors, error as Error))
      return
    }
    call.x.reason = 'Guardrail'
    call.x.error = refusal ? 'rejected by a prompt guard' : (error as Error).message
    const said = refusal
      ? ({ kind: 'filter', message: refusal.body, code: 'guardrail_intervention' } as const)
      : ({ kind: 'server', message: 'the reply could not be checked' } as const)
    this.#text += errors.event(said)
    this.#send()
    this.#client?.end()
  }
}

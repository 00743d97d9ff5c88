import { contentCoding, decodeInto } from '../../calls/content-coding.ts'
import { GatewayError } from '../../http/errors.ts'
import type { LlmFacts } from '../../http/exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import { SseReader } from '../../http/sse.ts'
import { type ChunkSink, discard, type ResponseHandler } from '../../http/transport.ts'
import type { ChatEvent, LlmError } from '../../llm/chat/chat.ts'
import type { ErrorCodec, RawEvent, ReplyFacts } from '../../llm/chat/codec.ts'
import type { Conversion, StreamConversion } from '../../llm/chat/conversion.ts'
import { type JsonObject, listOf } from '../../llm/chat/json.ts'
import { Untranslatable } from '../../llm/chat/losses.ts'
import type { PlainConversion } from '../../llm/chat/plain-conversion.ts'
import { FrameReader, writeFrames } from '../../llm/framing/event-stream-frames.ts'
import { type Usage, UsageRecorder } from '../../llm/usage.ts'
import { parseExact } from '../../mcp/exact-json.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { HeldReply } from './held-reply.ts'
import { isContent } from './native-stream.ts'
import { errorInDialect } from './reply-context.ts'

/** Bytes of a response that is converted whole, and of one event of a stream. */
const LIMIT = 32 * 1024 * 1024

export interface ConvertedContext {
  readonly conversion: Conversion | PlainConversion
  /** The client's error format. */
  readonly errors: ErrorCodec
  /** The client reads streams as frames. */
  readonly framed: boolean
  readonly facts: LlmFacts
  readonly clock: Clock
  /** Monotonic ms. */
  readonly startedAt: number
  /** Fallbacks for what the provider's response leaves out. */
  readonly named: ReplyFacts
  /** Cancels the upstream call. */
  cancel(): void
  /** Called after the last byte. */
  done(): void
}

interface StreamContext extends ConvertedContext {
  readonly conversion: Conversion
}

/** Converts a provider's response to the client's format. */
export function convertReply(ctx: ConvertedContext, on: ResponseHandler): ResponseHandler {
  return {
    head(status, headers) {
      const coding = contentCoding(headers.get('content-encoding'))
      if (coding === 'unknown') {
        ctx.cancel()
        on.fail(failure(ctx, `unsupported content encoding: ${headers.get('content-encoding')}`))
        return discard
      }
      const type = headers.get('content-type')?.toLowerCase() ?? ''
      for (const name of REPLACED) headers.delete(name)
      const streamed = status < 300 && ctx.facts.streaming && !type.includes('json')
      const sink =
        streamed && 'stream' in ctx.conversion
          ? new ConvertedStream(
              { ...ctx, conversion: ctx.conversion },
              on,
              status,
              headers,
              type.includes('vnd.amazon.eventstream'),
            )
          : new ConvertedWhole(ctx, on, status, headers)
      return coding === undefined ? sink : decodeInto(sink, coding, 'llmResponse')
    },
    fail: error => on.fail(errorInDialect(ctx.errors, error)),
  }
}

/** Headers that describe the provider's body, which the client does not get. */
const REPLACED = ['content-encoding', 'content-length', 'content-type', 'content-md5', 'digest', 'etag']

function failure(ctx: ConvertedContext, detail: string, cause?: unknown): Error {
  return errorInDialect(ctx.errors, new GatewayError('llmResponse', { detail, cause }))
}

class ConvertedWhole extends HeldReply {
  readonly #ctx: ConvertedContext
  #began = false
  protected readonly most = { bytes: LIMIT, else: 'converted' }

  constructor(ctx: ConvertedContext, on: ResponseHandler, status: number, headers: HeaderList) {
    super(on, status, headers)
    this.#ctx = ctx
  }

  override write(chunk: Buffer): boolean {
    if (!this.#began) this.#ctx.facts.timeToFirstToken = this.#ctx.clock.mono() - this.#ctx.startedAt
    this.#began = true
    return super.write(chunk)
  }

  protected cancel(): void {
    this.#ctx.cancel()
  }

  protected complete(bytes: Buffer): void {
    const text = bytes.toString('utf8')
    const body = this.status < 300 ? this.#converted(text) : this.#error(text)
    if (body === undefined) return
    const streamed = this.status < 300 && this.#ctx.facts.streaming
    this.headers.set('content-type', streamed ? streamType(this.#ctx) : 'application/json')
    this.send(streamed ? streamBytes(this.#ctx, body) : Buffer.from(body))
  }

  protected failed(error: Error): void {
    this.#ctx.done()
    this.on.fail(errorInDialect(this.#ctx.errors, error))
  }

  /** Undefined after a failure. */
  #converted(text: string): string | undefined {
    const { conversion, facts, named } = this.#ctx
    try {
      if (facts.streaming && 'stream' in conversion) {
        const { text: events, reply } = conversion.replyAsStream(parseExact(text), named)
        this.#record(reply)
        return events
      }
      const { body, reply } = conversion.reply(parseExact(text), { ...named, headers: this.headers })
      if (named.keep) for (const item of listOf(body.output)) named.keep(item as JsonObject)
      this.#record(reply)
      return JSON.stringify(body)
    } catch (error) {
      this.#ctx.done()
      const said = error instanceof Untranslatable ? error.message : 'the provider did not answer with JSON'
      if (!(error instanceof Untranslatable || error instanceof SyntaxError)) throw error
      this.on.fail(failure(this.#ctx, said, error))
      return undefined
    }
  }

  #record({ model, usage }: { readonly model?: string | undefined; readonly usage?: Usage | undefined }): void {
    const { facts } = this.#ctx
    if (model !== undefined) facts.responseModel = model
    if (usage) new UsageRecorder(facts, 'included').add(usage)
    this.#ctx.done()
  }

  #error(text: string): string {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      // Probably a proxy's error page: its text is all there is.
    }
    const { body } = this.#ctx.conversion.error(
      this.status,
      value ?? { error: { message: text.trim().slice(0, 2000) } },
    )
    this.#ctx.done()
    return JSON.stringify(body)
  }
}

/** Holds back the head until there is content: until then another provider can be tried. */
class ConvertedStream implements ChunkSink {
  readonly #ctx: ConvertedContext
  readonly #on: ResponseHandler
  readonly #status: number
  readonly #headers: HeaderList
  readonly #stream: StreamConversion
  readonly #reader: SseReader | FrameReader
  readonly #recorder: UsageRecorder
  #client: ChunkSink | undefined
  #drained: (() => void) | undefined
  /** Converted text not sent yet. */
  #text = ''
  #failed: LlmError | undefined
  #spoke = false
  #over = false

  constructor(ctx: StreamContext, on: ResponseHandler, status: number, headers: HeaderList, frames: boolean) {
    this.#ctx = ctx
    this.#on = on
    this.#status = status
    this.#headers = headers
    this.#recorder = new UsageRecorder(ctx.facts, 'included')
    this.#stream = ctx.conversion.stream(ctx.named, event => this.#watch(event))
    const take = (event: RawEvent): void => {
      this.#text += this.#stream.push(event)
    }
    this.#reader = frames
      ? new FrameReader(LIMIT, take)
      : new SseReader(LIMIT, ({ event, data }) => take({ name: event, data: data.toString('utf8') }))
  }

  write(chunk: Buffer): boolean {
    if (this.#over) return true
    try {
      this.#reader.push(chunk)
    } catch (error) {
      this.#ctx.cancel()
      this.fail(error as Error)
      return true
    }
    const room = this.#send()
    if (this.#stream.over) {
      this.#ctx.cancel()
      this.#finish()
    }
    return room
  }

  end(): void {
    if (this.#over) return
    if (this.#reader instanceof SseReader) this.write(LAST_LINE)
    if (this.#over) return
    this.#text += this.#stream.end()
    this.#send()
    this.#finish()
  }

  fail(error: Error): void {
    if (this.#over) return
    if (this.#client === undefined) {
      this.#over = true
      this.#ctx.done()
      this.#on.fail(errorInDialect(this.#ctx.errors, error))
      return
    }
    const kind = error instanceof GatewayError && error.reason === 'Timeout' ? 'timeout' : 'server'
    this.#text += this.#stream.fail({ kind, message: 'the reply of the provider broke off' })
    this.#send()
    this.#finish()
  }

  onDrain(then: () => void): void {
    this.#drained = then
    this.#client?.onDrain(then)
  }

  #watch(event: ChatEvent): void {
    const { facts, clock, startedAt } = this.#ctx
    if (!this.#spoke && isContent(event)) {
      this.#spoke = true
      facts.timeToFirstToken = clock.mono() - startedAt
    }
    switch (event.type) {
      case 'start':
        if (event.model !== undefined) facts.responseModel = event.model
        break
      case 'usage':
        this.#recorder.add(event.usage)
        break
      case 'error':
        this.#failed = event.error
        break
    }
  }

  /** False: the client exerts back-pressure. */
  #send(): boolean {
    if (this.#text === '' || !this.#spoke) return true
    const client = this.#client ?? this.#begin()
    const bytes = streamBytes(this.#ctx, this.#text)
    this.#text = ''
    return client.write(bytes)
  }

  #begin(): ChunkSink {
    this.#headers.set('content-type', streamType(this.#ctx))
    this.#client = this.#on.head(this.#status, this.#headers)
    if (this.#drained) this.#client.onDrain(this.#drained)
    return this.#client
  }

  #finish(): void {
    if (this.#over) return
    this.#over = true
    this.#ctx.done()
    if (this.#client) this.#client.end()
    else this.#on.fail(failure(this.#ctx, this.#failed?.message ?? 'the provider sent an empty stream'))
  }
}

const LAST_LINE = Buffer.from('\n\n')

function streamType({ framed }: ConvertedContext): string {
  return framed ? 'application/vnd.amazon.eventstream' : 'text/event-stream'
}

function streamBytes({ framed }: ConvertedContext, text: string): Buffer {
  return framed ? writeFrames(text) : Buffer.from(text)
}

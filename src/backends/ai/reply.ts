import { contentCoding, decodeInto } from '../../calls/content-coding.ts'
import { GatewayError } from '../../http/errors.ts'
import type { HeaderList } from '../../http/headers.ts'
import { keepChunk } from '../../http/keep-chunk.ts'
import { type ChunkSink, discard, handlerAround, type ResponseHandler } from '../../http/transport.ts'
import type { ErrorCodec } from '../../llm/chat/codec.ts'
import { errorBody, speaks } from '../../llm/error-body.ts'
import { EventFilter } from '../../llm/event-filter.ts'
import { StreamScanner } from '../../llm/stream-scanner.ts'
import { TailScanner } from '../../llm/tail-scanner.ts'
import { UsageRecorder } from '../../llm/usage.ts'
import { EndWatch, HeldStream, relayFrames } from './native-stream.ts'
import { errorInDialect, type ReplyContext } from './reply-context.ts'

/** A response up to this size is checked before its first byte is sent; a larger one is streamed. */
const HOLD = 256 * 1024
/** Characters of a non-JSON upstream error that are used as the message. */
const MESSAGE = 2000

/** Forwards a provider's response to `on` and extracts usage; failures are reported in the client's dialect. */
export function relayReply(ctx: ReplyContext, on: ResponseHandler): ResponseHandler {
  return {
    head(status, headers) {
      const coding = contentCoding(headers.get('content-encoding'))
      if (coding === 'unknown') {
        ctx.cancel()
        on.fail(responseFailure(ctx.errors, `unsupported content encoding: ${headers.get('content-encoding')}`))
        return discard
      }
      if (coding !== undefined) {
        headers.delete('content-encoding')
        headers.delete('content-length')
      }
      const streamed = status < 300 && isStream(headers, ctx.facts.streaming)
      if (streamed && ctx.hide) headers.delete('content-length')
      const chat = ctx.chat
      const sink = !streamed
        ? new HeldReply(ctx, on, status, headers)
        : chat === undefined || !ctx.patient
          ? relayStream(ctx, on.head(status, headers))
          : new HeldStream(chat, ctx, on, { status, headers }, client => relayStream(ctx, client))
      return coding === undefined ? sink : decodeInto(sink, coding, 'llmResponse')
    },
    fail: error => on.fail(errorInDialect(ctx.errors, error)),
  }
}

/** Forwards a response unchanged, and extracts usage where it is uncompressed and of a known format. */
export function watchReply(ctx: ReplyContext, on: ResponseHandler): ResponseHandler {
  return handlerAround(on, {
    head(status, headers) {
      const client = on.head(status, headers)
      if (status >= 300 || contentCoding(headers.get('content-encoding')) !== undefined) return client
      if (isStream(headers, false)) return relayStream(ctx, client)
      return headers.get('content-type')?.includes('json') ? watchJson(ctx, client) : client
    },
  })
}

function responseFailure(dialect: ErrorCodec, detail: string, cause?: unknown): Error {
  return errorInDialect(dialect, new GatewayError('llmResponse', { detail, cause }))
}

/** Some servers mislabel their streams: if a stream was requested, anything not labelled JSON is streamed. */
export function isStream(headers: HeaderList, asked: boolean): boolean {
  const type = headers.get('content-type')?.toLowerCase() ?? ''
  return type.includes('text/event-stream') || (asked && !type.includes('json'))
}

function firstByte(ctx: ReplyContext): void {
  ctx.facts.timeToFirstToken = ctx.clock.mono() - ctx.startedAt
}

function relayStream(ctx: ReplyContext, client: ChunkSink): ChunkSink {
  if (ctx.format.framed) return relayFrames(ctx, client)
  const scanner = new StreamScanner(ctx.format, new UsageRecorder(ctx.facts, ctx.format.cache))
  const filter = ctx.hide && new EventFilter(ctx.hide)
  const ending = ctx.chat === undefined ? undefined : new EndWatch(ctx.chat)
  let first = true
  return {
    write(chunk) {
      if (first) {
        first = false
        firstByte(ctx)
      }
      const shown = filter ? filter.push(chunk) : chunk
      const room = shown.length === 0 || client.write(shown)
      scanner.push(chunk)
      ending?.push(chunk)
      return room
    },
    end(trailers) {
      const rest = filter?.end()
      if (rest && rest.length > 0) client.write(rest)
      scanner.end()
      const missing = ending?.missing('the provider ended the stream before the reply was complete')
      if (missing) client.write(missing)
      ctx.done()
      client.end(trailers)
    },
    fail(error) {
      ctx.done()
      const missing = ending?.missing('the reply of the provider broke off')
      if (missing === undefined) {
        client.fail(error)
        return
      }
      client.write(missing)
      client.end()
    },
    onDrain: then => client.onDrain(then),
  }
}

function watchJson(ctx: ReplyContext, client: ChunkSink): ChunkSink {
  let scanner: TailScanner | undefined
  return {
    write(chunk) {
      if (scanner) scanner.push(chunk)
      else {
        firstByte(ctx)
        scanner = new TailScanner(ctx.format, new UsageRecorder(ctx.facts, ctx.format.cache), chunk)
      }
      return client.write(chunk)
    },
    end(trailers) {
      scanner?.end()
      ctx.done()
      client.end(trailers)
    },
    fail(error) {
      ctx.done()
      client.fail(error)
    },
    onDrain: then => client.onDrain(then),
  }
}

/** Holds a response until it is known to be complete JSON, or too large to hold. */
class HeldReply implements ChunkSink {
  readonly #ctx: ReplyContext
  readonly #on: ResponseHandler
  readonly #status: number
  readonly #headers: HeaderList
  readonly #recorder: UsageRecorder
  #chunks: Buffer[] = []
  #size = 0
  /** Both are set once the response is streamed. */
  #client: ChunkSink | undefined
  #scanner: TailScanner | undefined
  #drained: (() => void) | undefined

  constructor(ctx: ReplyContext, on: ResponseHandler, status: number, headers: HeaderList) {
    this.#ctx = ctx
    this.#on = on
    this.#status = status
    this.#headers = headers
    this.#recorder = new UsageRecorder(ctx.facts, ctx.format.cache)
  }

  write(chunk: Buffer): boolean {
    if (this.#client) {
      this.#scanner?.push(chunk)
      return this.#client.write(chunk)
    }
    if (this.#size === 0) firstByte(this.#ctx)
    keepChunk(this.#chunks, chunk)
    this.#size += chunk.length
    return this.#size <= HOLD || this.#release()
  }

  end(trailers?: readonly string[]): void {
    if (this.#client) {
      this.#scanner?.end()
      this.#ctx.done()
      this.#client.end(trailers)
      return
    }
    const body = this.#status < 300 ? this.#checked() : this.#translated()
    this.#ctx.done()
    if (!body) return
    const client = this.#on.head(this.#status, this.#headers)
    if (body.length > 0) client.write(body)
    client.end(trailers)
  }

  fail(error: Error): void {
    this.#ctx.done()
    if (this.#client) this.#client.fail(error)
    else this.#on.fail(errorInDialect(this.#ctx.errors, error))
  }

  onDrain(then: () => void): void {
    this.#drained = then
    this.#client?.onDrain(then)
  }

  #release(): boolean {
    const held = Buffer.concat(this.#chunks)
    this.#chunks = []
    this.#client = this.#on.head(this.#status, this.#headers)
    if (this.#drained) this.#client.onDrain(this.#drained)
    if (this.#status < 300) this.#scanner = new TailScanner(this.#ctx.format, this.#recorder, held)
    return this.#client.write(held)
  }

  /** The body, once it is known to be JSON. Undefined after a failure. */
  #checked(): Buffer | undefined {
    const body = Buffer.concat(this.#chunks)
    let value: unknown
    try {
      value = JSON.parse(body.toString('utf8'))
    } catch (cause) {
      this.#on.fail(responseFailure(this.#ctx.errors, 'the provider did not answer with JSON', cause))
      return undefined
    }
    const usage = this.#ctx.format.usage(value)
    if (usage) this.#recorder.add(usage)
    const model = this.#ctx.format.model(value)
    if (model !== undefined) this.#recorder.model(model)
    return body
  }

  /** An error in the client's dialect: unchanged where the provider speaks it, wrapped otherwise. */
  #translated(): Buffer {
    const body = Buffer.concat(this.#chunks)
    if (this.#status < 400) return body
    const text = body.toString('utf8')
    let message = text.trim().slice(0, MESSAGE)
    try {
      const value: unknown = JSON.parse(text)
      if (speaks(this.#ctx.errors, value)) return body
      message = messageOf(value) ?? message
    } catch {
      // Not JSON: probably a proxy's error page.
    }
    const wrapped = errorBody(this.#ctx.errors, this.#status, message || `the provider answered ${this.#status}`)
    this.#headers.set('content-type', wrapped.type)
    const bytes = Buffer.from(wrapped.text)
    this.#headers.set('content-length', String(bytes.length))
    return bytes
  }
}

/** The message of an error in another dialect. */
function messageOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { error, message, detail } = value as { error?: unknown; message?: unknown; detail?: unknown }
  if (typeof error === 'object' && error !== null) return messageOf(error)
  return [error, message, detail].find(text => typeof text === 'string')
}

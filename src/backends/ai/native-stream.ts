import { GatewayError } from '../../http/errors.ts'
import type { HeaderList } from '../../http/headers.ts'
import { keepChunk } from '../../http/keep-chunk.ts'
import { SseReader } from '../../http/sse.ts'
import type { ChunkSink, ResponseHandler } from '../../http/transport.ts'
import type { ChatEvent, ChatFormat, LlmError } from '../../llm/chat/chat.ts'
import { parseEvent } from '../../llm/chat/open-parts.ts'
import { CODECS } from '../../llm/formats/codecs.ts'
import { FrameReader, writeFrames } from '../../llm/framing/event-stream-frames.ts'
import { UsageRecorder } from '../../llm/usage.ts'
import { errorInDialect, type ReplyContext } from './reply-context.ts'

/** A stream without content after this many bytes is passed on as it is. */
const MAX_HELD = 64 * 1024
/** In bytes. */
const MAX_FRAME = 32 * 1024 * 1024
/** Enough for the last events of every format. */
const TAIL = 4096

/**
 * Holds back an unconverted stream until there is content: until then another provider can be tried, and a failure
 * fails the call.
 */
export class HeldStream implements ChunkSink {
  readonly #ctx: ReplyContext
  readonly #on: ResponseHandler
  readonly #status: number
  readonly #headers: HeaderList
  readonly #relay: (client: ChunkSink) => ChunkSink
  readonly #reader: SseReader | FrameReader
  readonly #events
  #held: Buffer[] = []
  #size = 0
  #speaks = false
  #failed: LlmError | undefined
  #client: ChunkSink | undefined
  #drained: (() => void) | undefined
  #over = false

  constructor(
    format: ChatFormat,
    ctx: ReplyContext,
    on: ResponseHandler,
    head: { readonly status: number; readonly headers: HeaderList },
    relay: (client: ChunkSink) => ChunkSink,
  ) {
    this.#ctx = ctx
    this.#on = on
    this.#status = head.status
    this.#headers = head.headers
    this.#relay = relay
    this.#events = CODECS[format].events.reader()
    this.#reader = ctx.format.framed
      ? new FrameReader(MAX_HELD, ({ name = '', data }) => this.#read(name, data))
      : new SseReader(MAX_HELD, ({ event, data }) => this.#read(event, data.toString('utf8')))
  }

  write(chunk: Buffer): boolean {
    if (this.#client) return this.#client.write(chunk)
    if (this.#over) return true
    keepChunk(this.#held, chunk)
    this.#size += chunk.length
    this.#look(chunk)
    if (this.#failed && !this.#speaks) {
      this.#ctx.cancel()
      this.#refuse(this.#failed.message)
      return true
    }
    return !(this.#speaks || this.#size > MAX_HELD) || this.#release()
  }

  end(trailers?: readonly string[]): void {
    if (this.#over) return
    if (!this.#client) {
      if (!this.#ctx.format.framed) this.#look(LAST_LINE)
      if (!this.#speaks) {
        this.#refuse(
          this.#size === 0 ? 'the provider sent an empty stream' : 'the provider ended the stream without a reply',
        )
        return
      }
      this.#release()
    }
    this.#client?.end(trailers)
  }

  fail(error: Error): void {
    if (this.#over) return
    if (this.#client) {
      this.#client.fail(error)
      return
    }
    this.#over = true
    this.#ctx.done()
    this.#on.fail(errorInDialect(this.#ctx.errors, error))
  }

  onDrain(then: () => void): void {
    this.#drained = then
    this.#client?.onDrain(then)
  }

  #look(chunk: Buffer): void {
    try {
      this.#reader.push(chunk)
    } catch {
      // An event too large to hold counts as content.
      this.#speaks = true
    }
  }

  #read(name: string, data: string): void {
    if (this.#speaks) return
    for (const event of this.#events.read({ name, data })) {
      if (event.type === 'error') this.#failed = event.error
      else if (isContent(event)) this.#speaks = true
    }
  }

  #release(): boolean {
    const client = this.#relay(this.#on.head(this.#status, this.#headers))
    this.#client = client
    if (this.#drained) client.onDrain(this.#drained)
    const held = this.#held.length === 1 ? (this.#held[0] as Buffer) : Buffer.concat(this.#held, this.#size)
    this.#held = []
    return client.write(held)
  }

  #refuse(detail: string): void {
    this.#over = true
    this.#held = []
    this.#ctx.done()
    this.#on.fail(errorInDialect(this.#ctx.errors, new GatewayError('llmResponse', { detail })))
  }
}

/** Terminates an event that lacks its blank line. */
const LAST_LINE = Buffer.from('\n\n')

/** Whether the client has got something of the reply with it. */
export function isContent(event: ChatEvent): boolean {
  if (event.type === 'open') return event.kind === 'toolCall'
  return event.type === 'delta' || event.type === 'stop' || event.type === 'end'
}

/** Forwards a stream of frames; one that does not come to its end gets an exception. */
export function relayFrames(ctx: ReplyContext, client: ChunkSink): ChunkSink {
  const recorder = new UsageRecorder(ctx.facts, ctx.format.cache)
  let first = true
  let ended = false
  let reader: FrameReader | undefined = new FrameReader(MAX_FRAME, ({ name, data }) => {
    if (name === 'messageStop' || name?.endsWith('Exception')) ended = true
    const usage = name === 'metadata' ? ctx.format.usage(parseEvent(data)) : undefined
    if (usage) recorder.add(usage)
  })
  const finish = (message: string): void => {
    ctx.done()
    if (!ended || reader?.partial) client.write(writeFrames(ctx.errors.event({ kind: 'server', message })))
  }
  return {
    write(chunk) {
      if (first) ctx.facts.timeToFirstToken = ctx.clock.mono() - ctx.startedAt
      first = false
      try {
        reader?.push(chunk)
      } catch {
        // Nobody reads further than a broken frame.
        reader = undefined
      }
      return client.write(chunk)
    },
    end(trailers) {
      finish('the provider ended the stream before the reply was complete')
      client.end(trailers)
    },
    fail() {
      finish('the reply of the provider broke off')
      client.end()
    },
    onDrain: then => client.onDrain(then),
  }
}

/** The final event of each format. A stream without one was cut off. */
const LAST: Readonly<Record<ChatFormat, RegExp>> = {
  completions: /(?:^|[\r\n])data:[ \t]*\[DONE\]|"finish_reason"\s*:\s*"|"error"\s*:/,
  messages: /"message_stop"|"type"\s*:\s*"error"/,
  responses: /"response\.(?:completed|incomplete|failed)"|"type"\s*:\s*"error"/,
  generateContent: /"finishReason"\s*:|"blockReason"\s*:|"error"\s*:/,
  converse: /./,
}

/** Checks that a stream reaches its format's final event, and otherwise reports the cut in the client's format. */
export class EndWatch {
  readonly #format: ChatFormat
  /** The most recent chunks, enough for `TAIL` bytes. */
  readonly #chunks: Buffer[] = []
  #size = 0
  /** The final event of a response repeats all of it, so its name may be long past when the stream ends. */
  #ended = false

  constructor(format: ChatFormat) {
    this.#format = format
  }

  push(chunk: Buffer): void {
    if (this.#format === 'responses' && !this.#ended) this.#ended = this.#endsIn(chunk)
    this.#chunks.push(chunk)
    this.#size += chunk.length
    for (let first = this.#chunks[0]; first && this.#size - first.length >= TAIL; first = this.#chunks[0]) {
      this.#chunks.shift()
      this.#size -= first.length
    }
  }

  /** What to append before the end. Undefined if the stream is complete. */
  missing(message: string): Buffer | undefined {
    const tail = Buffer.concat(this.#chunks).subarray(-TAIL).toString('latin1')
    const lastLine = tail.slice(Math.max(tail.lastIndexOf('\n'), tail.lastIndexOf('\r')) + 1)
    if (!(this.#ended || LAST[this.#format].test(tail)) || isCut(lastLine)) {
      // The last event may be cut off, too.
      return Buffer.from(`\n\n${CODECS[this.#format].errors.event({ kind: 'server', message })}`)
    }
    // Clients dispatch an event at its blank line.
    return /(?:\r\n|\n|\r){2}$/.test(tail) || DONE.test(lastLine) ? undefined : BLANK_LINE
  }

  #endsIn(chunk: Buffer): boolean {
    if (LAST_RESPONSES.some(name => chunk.includes(name))) return true
    const before = this.#chunks.at(-1)?.subarray(-SEAM)
    if (before === undefined) return false
    const seam = Buffer.concat([before, chunk.subarray(0, SEAM)])
    return LAST_RESPONSES.some(name => seam.includes(name))
  }
}

const DONE = /^data:[ \t]*\[DONE\]/
const BLANK_LINE = Buffer.from('\n\n')

/** `line`: the text after the last line break. */
function isCut(line: string): boolean {
  if (line === '' || line.startsWith(':') || DONE.test(line)) return false
  try {
    JSON.parse(line.replace(/^data:/, ''))
    return !line.startsWith('data:')
  } catch {
    return true
  }
}

const LAST_RESPONSES = ['"response.completed"', '"response.incomplete"', '"response.failed"'].map(name =>
  Buffer.from(name),
)
const SEAM = 24

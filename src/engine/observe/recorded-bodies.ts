import { type Readable, Transform } from 'node:stream'
import type { Expression } from '../../cel/expression.ts'
import type { BodyMemory } from '../../http/body-memory.ts'
import { type BodySource, bodyOf, type Exchange } from '../../http/exchange.ts'
import { keepChunk } from '../../http/keep-chunk.ts'
import type { ChunkSink } from '../../http/transport.ts'
import type { Downstream } from '../downstream.ts'

/** Which bodies the expressions of logs, spans and labels refer to. */
export interface WantedBodies {
  readonly request: boolean
  readonly response: boolean
}

export function wantedBodies(expressions: readonly (Expression | undefined)[]): WantedBodies {
  return {
    request: expressions.some(each => each?.readsRequestBody),
    response: expressions.some(each => each?.readsResponseBody),
  }
}

/** Records passing bytes, up to `limit`; a longer body, or one that exceeds the shared limit, is dropped entirely. */
class Recording {
  /** Undefined once dropped. */
  #chunks: Buffer[] | undefined = []
  #size = 0
  #complete = false
  readonly #limit: number
  readonly #memory: BodyMemory

  constructor(limit: number, memory: BodyMemory) {
    this.#limit = limit
    this.#memory = memory
  }

  add(chunk: Buffer): void {
    const { length } = chunk
    if (!this.#chunks) return
    if (this.#size + length > this.#limit || !this.#memory.take(length)) {
      this.release()
      return
    }
    this.#size += length
    // Copied: the sender may reuse the chunk's memory.
    keepChunk(this.#chunks, Buffer.from(chunk))
  }

  end(): void {
    this.#complete = true
  }

  release(): void {
    this.#chunks = undefined
    this.#memory.give(this.#size)
    this.#size = 0
  }

  get body(): Buffer | undefined {
    return this.#complete && this.#chunks ? Buffer.concat(this.#chunks) : undefined
  }
}

/** Records the bodies of one exchange as they stream by, for expressions that run after its end; nothing is delayed. */
export class RecordedBodies {
  readonly #x: Exchange
  readonly #limit: number
  readonly #memory: BodyMemory
  readonly #original: BodySource
  #request: Recording | undefined
  #response: Recording | undefined

  /** `out`: the client side, which remains the same object for its other users. */
  constructor(x: Exchange, out: Downstream, wanted: WantedBodies, limit: number, memory: BodyMemory) {
    this.#x = x
    this.#limit = limit
    this.#memory = memory
    this.#original = x.body
    if (wanted.request) x.body = this.#recordedSource(x.body)
    if (wanted.response) this.#recordReplies(out)
  }

  /** Exposes the recorded bodies to expressions. */
  reveal(): void {
    const request = this.#original.bytes ?? this.#request?.body
    if (request) this.#x.body = bodyOf(request)
    const response = this.#response?.body
    if (response && this.#x.response) this.#x.response.body = response
  }

  /** Frees them after the expressions have run. */
  release(): void {
    this.#request?.release()
    this.#response?.release()
  }

  #recordReplies(out: Downstream): void {
    const recording = new Recording(this.#limit, this.#memory)
    this.#response = recording
    const { reply, start } = out
    out.reply = (status, headers, body) => {
      if (body !== undefined) recording.add(Buffer.from(body))
      recording.end()
      reply.call(out, status, headers, body)
    }
    out.start = (status, headers) => recordedSink(start.call(out, status, headers), recording)
  }

  #recordedSource(inner: BodySource): BodySource {
    return {
      get length() {
        return inner.length
      },
      get bytes() {
        return inner.bytes
      },
      buffer: limit => inner.buffer(limit),
      prefix: limit => inner.prefix(limit),
      replace: bytes => inner.replace(bytes),
      take: () => {
        const body = inner.take()
        // A buffered body is exposed by the source itself.
        if (body === undefined || inner.bytes !== undefined) return body
        const recording = new Recording(this.#limit, this.#memory)
        this.#request = recording
        if (Buffer.isBuffer(body)) {
          recording.add(body)
          recording.end()
          return body
        }
        return recordedStream(body, recording)
      },
    }
  }
}

function recordedStream(body: Readable, recording: Recording): Readable {
  const passing = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      recording.add(chunk)
      done(null, chunk)
    },
    flush(done) {
      recording.end()
      done()
    },
  })
  body.on('error', error => passing.destroy(error))
  return body.pipe(passing)
}

function recordedSink(sink: ChunkSink, recording: Recording): ChunkSink {
  return {
    write(chunk, release) {
      recording.add(chunk)
      return sink.write(chunk, release)
    },
    end(trailers) {
      recording.end()
      sink.end(trailers)
    },
    fail: error => sink.fail(error),
    onDrain: then => sink.onDrain(then),
  }
}

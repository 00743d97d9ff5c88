import { HeaderList } from '../../../http/headers.ts'
import { keepChunk } from '../../../http/keep-chunk.ts'
import type { ChunkSink } from '../../../http/transport.ts'
import type { ProcessingResponse } from '../../../protobuf/ext-proc.ts'
import { MAX_AHEAD, MAX_CHUNK } from './duplex-request.ts'
import { changedTrailers, headersOf } from './mutations.ts'
import { failed, type ServiceStream } from './service-stream.ts'

/** A response body streamed through the service, chunk by chunk, with back-pressure from the client. */
export class DuplexResponse implements ChunkSink {
  readonly #stream: ServiceStream
  readonly #to: ChunkSink
  readonly #sendsTrailers: boolean
  #ahead = 0
  #full = false
  #congested = false
  #over = false
  #drained = (): void => {}
  #trailers: readonly string[] | undefined

  constructor(stream: ServiceStream, to: ChunkSink, sendsTrailers: boolean) {
    this.#stream = stream
    this.#to = to
    this.#sendsTrailers = sendsTrailers
    to.onDrain(() => {
      this.#full = false
      this.#ahead = 0
      stream.resume()
      this.#resume()
    })
    this.#listen(false)
  }

  write(chunk: Buffer): boolean {
    if (this.#over) return true
    for (let at = 0; at < chunk.length; at += MAX_CHUNK) {
      const part = chunk.subarray(at, at + MAX_CHUNK)
      const room = this.#stream.send({ responseBody: { body: part, endOfStream: false } })
      if (!room && !this.#congested) {
        this.#congested = true
        this.#stream.onDrain(() => {
          this.#congested = false
          this.#resume()
        })
      }
    }
    return !this.#full && !this.#congested
  }

  end(trailers?: readonly string[]): void {
    if (this.#over) return
    this.#trailers = trailers
    this.#listen(true)
    if (trailers && trailers.length > 0 && this.#sendsTrailers) {
      this.#stream.listen('responseTrailers', { hear: response => this.#changeTrailers(response), fail: () => {} })
      this.#stream.send({ responseTrailers: { trailers: headersOf([], new HeaderList(trailers)) } })
    } else this.#stream.send({ responseBody: { body: new Uint8Array(), endOfStream: true } })
  }

  fail(error: Error): void {
    if (this.#over) return
    this.#over = true
    this.#to.fail(error)
  }

  onDrain(then: () => void): void {
    this.#drained = then
  }

  #resume(): void {
    if (!this.#full && !this.#congested) this.#drained()
  }

  #listen(owed: boolean): void {
    this.#stream.listen(
      'responseBody',
      { hear: response => this.#hear(response), fail: error => this.fail(error) },
      owed,
    )
  }

  #hear({ responseBody, immediateResponse }: ProcessingResponse): boolean {
    if (this.#over) return true
    // The head has been sent: it is too late for another response.
    if (immediateResponse) {
      this.fail(failed('an immediate response within a body'))
      return true
    }
    const mutation = responseBody?.response?.bodyMutation
    const { body, endOfStream } = mutation?.streamedResponse ?? { body: mutation?.body }
    if (body && body.length > 0) {
      this.#ahead += this.#full ? body.length : 0
      if (this.#ahead > MAX_AHEAD) {
        this.fail(failed('too much of a body'))
        return true
      }
      this.#full = !this.#to.write(Buffer.from(body)) || this.#full
    }
    if (endOfStream) this.#end()
    return !this.#full
  }

  #changeTrailers({ responseTrailers }: ProcessingResponse): undefined {
    if (this.#over) return
    this.#trailers = changedTrailers(responseTrailers?.headerMutation, this.#trailers ?? [])
    this.#end()
  }

  #end(): void {
    this.#over = true
    this.#stream.unlisten('responseBody')
    this.#stream.unlisten('responseTrailers')
    this.#to.end(this.#trailers)
  }
}

/** Sends the beginning of a response body to the service; the rest passes unchanged. */
export class ResponseBeginning implements ChunkSink {
  readonly #stream: ServiceStream
  readonly #to: ChunkSink
  readonly #limit: number
  /** Whether an oversized body fails; otherwise the service sees only its beginning. */
  readonly #whole: boolean
  #chunks: Buffer[] = []
  #size = 0
  #phase: 'collecting' | 'asking' | 'passing' | 'over' = 'collecting'
  #end: { readonly trailers: readonly string[] | undefined } | undefined

  constructor(stream: ServiceStream, to: ChunkSink, limit: number, whole: boolean) {
    this.#stream = stream
    this.#to = to
    this.#limit = limit
    this.#whole = whole
  }

  write(chunk: Buffer): boolean {
    if (this.#phase === 'passing') return this.#to.write(chunk)
    if (this.#phase === 'over') return true
    keepChunk(this.#chunks, chunk)
    this.#size += chunk.length
    if (this.#whole && this.#size > this.#limit) {
      this.fail(failed('a body that is too long'))
      return true
    }
    if (this.#phase === 'collecting' && !this.#whole && this.#size >= this.#limit) this.#ask()
    return this.#phase === 'collecting'
  }

  end(trailers?: readonly string[]): void {
    if (this.#phase === 'passing') this.#to.end(trailers)
    else {
      this.#end = { trailers }
      if (this.#phase === 'collecting') this.#ask()
    }
  }

  fail(error: Error): void {
    if (this.#phase === 'over') return
    this.#phase = 'over'
    this.#to.fail(error)
  }

  onDrain(then: () => void): void {
    this.#to.onDrain(then)
    this.#drained = then
  }
  #drained = (): void => {}

  #ask(): void {
    this.#phase = 'asking'
    const all = Buffer.concat(this.#chunks, this.#size)
    const body = all.subarray(0, this.#limit)
    this.#stream.send({
      responseBody: { body, endOfStream: this.#end !== undefined && body.length === all.length },
    })
    this.#stream.answer('responseBody').then(
      ({ responseBody, immediateResponse }) => {
        if (immediateResponse) this.fail(failed('an immediate response within a body'))
        else this.#pass(changedBody(responseBody?.response?.bodyMutation) ?? body)
      },
      error => this.fail(error),
    )
  }

  /** Data that arrived during the call follows the part that was sent. */
  #pass(beginning: Buffer): void {
    if (this.#phase === 'over') return
    this.#phase = 'passing'
    const rest = Buffer.concat(this.#chunks, this.#size).subarray(this.#limit)
    this.#chunks = []
    let room = beginning.length === 0 || this.#to.write(beginning)
    if (rest.length > 0) room = this.#to.write(rest)
    if (this.#end) this.#to.end(this.#end.trailers)
    else if (room) this.#drained()
  }
}

/** The replacement of a body that was sent as one message; undefined to keep it. */
export function changedBody(
  mutation: { readonly body?: Uint8Array; readonly clearBody?: boolean } | undefined,
): Buffer | undefined {
  if (mutation?.clearBody) return Buffer.alloc(0)
  return mutation?.body === undefined ? undefined : Buffer.from(mutation.body)
}

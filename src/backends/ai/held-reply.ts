import { GatewayError } from '../../http/errors.ts'
import type { HeaderList } from '../../http/headers.ts'
import { keepChunk } from '../../http/keep-chunk.ts'
import type { ChunkSink, ResponseHandler } from '../../http/transport.ts'
import { nestsDeeperThan } from '../../mcp/json-outline.ts'

/** Nesting depth of lists and objects: brackets alone take many times their size in memory. */
const MAX_DEPTH = 256
const TOO_DEEP = `the provider's answer is nested deeper than ${MAX_DEPTH}`

/** Holds a response until it is complete, then sends the result. */
export abstract class HeldReply implements ChunkSink {
  protected readonly on: ResponseHandler
  protected readonly status: number
  protected readonly headers: HeaderList
  #chunks: Buffer[] = []
  #size = 0
  #over = false

  constructor(on: ResponseHandler, status: number, headers: HeaderList) {
    this.on = on
    this.status = status
    this.headers = headers
  }

  /** The limit in bytes, and what is impossible beyond it. */
  protected abstract readonly most: { readonly bytes: number; readonly else: string }
  protected abstract cancel(): void
  protected abstract complete(bytes: Buffer): void
  /** Reports the failure to the client. Called at most once, and not after `complete`. */
  protected abstract failed(error: Error): void

  write(chunk: Buffer): boolean {
    if (this.#over) return true
    keepChunk(this.#chunks, chunk)
    this.#size += chunk.length
    const { bytes, else: detail } = this.most
    if (this.#size > bytes) {
      this.cancel()
      this.fail(new GatewayError('responseTooLarge', { detail: `more than ${bytes} bytes cannot be ${detail}` }))
    }
    return true
  }

  end(): void {
    if (this.#over) return
    this.#over = true
    const bytes = Buffer.concat(this.#chunks, this.#size)
    this.#chunks = []
    if (nestsDeeperThan(MAX_DEPTH, bytes)) this.failed(new GatewayError('llmResponse', { detail: TOO_DEEP }))
    else this.complete(bytes)
  }

  fail(error: Error): void {
    if (this.#over) return
    this.#over = true
    this.#chunks = []
    this.failed(error)
  }

  onDrain(): void {
    // Held in memory, so never full.
  }

  protected send(bytes: Buffer): void {
    this.headers.set('content-length', String(bytes.length))
    const client = this.on.head(this.status, this.headers)
    client.write(bytes)
    client.end()
  }
}

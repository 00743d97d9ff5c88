import type { BodyMemory } from '../http/body-memory.ts'
import { bodyMemoryExhausted } from '../http/errors.ts'
import { keepChunk } from '../http/keep-chunk.ts'
import type { ChunkSink } from '../http/transport.ts'
import { flushChunks, passChunk } from './run-policies.ts'
import type { BodyHook, BodyPassage } from './step.ts'

/** Holds a body back while its head is pending in a policy; the sender is paused after the first chunk. */
export class PausedSink implements ChunkSink {
  #to: ChunkSink | undefined
  #held: Buffer[] = []
  #end: { readonly trailers: readonly string[] | undefined } | undefined
  /** The sender's failure, not reported yet. */
  failed: Error | undefined
  #drain: (() => void) | undefined

  write(chunk: Buffer): boolean {
    if (this.#to) return this.#to.write(chunk)
    keepChunk(this.#held, chunk)
    return false
  }
  end(trailers?: readonly string[]): void {
    if (this.#to) this.#to.end(trailers)
    else this.#end = { trailers }
  }
  fail(error: Error): void {
    if (this.#to) this.#to.fail(error)
    else this.failed = error
  }
  onDrain(then: () => void): void {
    this.#drain = then
    this.#to?.onDrain(then)
  }

  release(to: ChunkSink): void {
    this.#to = to
    if (this.#drain) to.onDrain(this.#drain)
    let room = true
    for (const chunk of this.#held) room = to.write(chunk)
    this.#held = []
    if (this.failed) to.fail(this.failed)
    else if (this.#end) to.end(this.#end.trailers)
    else if (room) this.#drain?.()
  }
}

/**
 * Buffers a whole body for the policies that read it, then continues like a paused one. `ready` is called once: with
 * the body, without it if it exceeds the limit or takes too long, or with the error.
 */
export class CollectingSink extends PausedSink {
  readonly #limit: number
  readonly #memory: BodyMemory
  readonly #ready: (body: Buffer | Error | undefined) => void
  #chunks: Buffer[] | undefined = []
  #size = 0
  #counted = 0

  constructor(limit: number, memory: BodyMemory, ready: (body: Buffer | Error | undefined) => void) {
    super()
    this.#limit = limit
    this.#memory = memory
    this.#ready = ready
  }

  /** The request has ended. */
  cancel(): void {
    this.#chunks = undefined
    this.#memory.give(this.#counted)
    this.#counted = 0
  }

  /** The body took too long. */
  giveUp(error: Error | undefined): void {
    if (this.#chunks) this.#settle(error)
  }

  override write(chunk: Buffer): boolean {
    const room = super.write(chunk)
    if (!this.#chunks) return room
    if (!this.#memory.take(chunk.length)) {
      this.#settle(bodyMemoryExhausted())
      return false
    }
    this.#counted += chunk.length
    keepChunk(this.#chunks, chunk)
    this.#size += chunk.length
    if (this.#size <= this.#limit) return true
    this.#settle(undefined)
    return false
  }

  override end(trailers?: readonly string[]): void {
    super.end(trailers)
    if (this.#chunks) this.#settle(Buffer.concat(this.#chunks, this.#size))
  }

  override fail(error: Error): void {
    super.fail(error)
    if (this.#chunks) this.#settle(error)
  }

  #settle(body: Buffer | Error | undefined): void {
    this.#chunks = undefined
    this.#ready(body)
  }
}

/** Passes a body through `hooks` in order. */
export function sinkThrough(to: ChunkSink, hooks: readonly (BodyHook | BodyPassage)[]): ChunkSink {
  const at = hooks.findLastIndex(hook => 'around' in hook)
  const passage = hooks[at] as BodyPassage | undefined
  const behind = hooks.slice(at + 1) as BodyHook[]
  const last = behind.length > 0 ? transformSink(to, behind) : to
  return passage === undefined ? last : sinkThrough(passage.around(last), hooks.slice(0, at))
}

function transformSink(to: ChunkSink, hooks: readonly BodyHook[]): ChunkSink {
  return {
    write(data) {
      const chunk = passChunk(hooks, data)
      return chunk ? to.write(chunk) : true
    },
    end(trailers) {
      for (const chunk of flushChunks(hooks)) to.write(chunk)
      to.end(trailers)
    },
    fail: error => to.fail(error),
    onDrain: then => to.onDrain(then),
  }
}

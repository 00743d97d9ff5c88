import { opensObject } from './event-stream.ts'
import type { ReplyReader } from './formats/format.ts'
import { skipValue } from './json-body.ts'
import type { UsageRecorder } from './usage.ts'

const TAIL = 16 * 1024
const USAGE = Buffer.from('"usage"')
const MODEL = /"model"\s*:\s*("(?:[^"\\]|\\.)*")/

/** Extracts usage and model from the two ends of a JSON response that is too large to keep. */
export class TailScanner {
  readonly #format: ReplyReader
  readonly #recorder: UsageRecorder
  #tail: Buffer = Buffer.alloc(0)

  constructor(format: ReplyReader, recorder: UsageRecorder, head: Buffer) {
    this.#format = format
    this.#recorder = recorder
    this.#readModel(head.toString('utf8', 0, TAIL))
    this.push(head)
  }

  push(chunk: Buffer): void {
    if (chunk.length >= TAIL) {
      this.#tail = Buffer.from(chunk.subarray(chunk.length - TAIL))
      return
    }
    const joined = Buffer.concat([this.#tail, chunk])
    this.#tail = joined.length > TAIL ? joined.subarray(joined.length - TAIL) : joined
  }

  end(): void {
    const tail = this.#tail
    for (let at = tail.lastIndexOf(USAGE); at >= 0; at = at === 0 ? -1 : tail.lastIndexOf(USAGE, at - 1)) {
      if (!opensObject(tail, at + USAGE.length)) continue
      const text = tail.toString('utf8', tail.indexOf('{', at + USAGE.length))
      const end = skipValue(text, 0)
      if (end < 0) return
      try {
        const usage = this.#format.usage({ usage: JSON.parse(text.slice(0, end)) })
        if (usage) this.#recorder.add(usage)
      } catch {
        // Not JSON: the response passes through, and the client handles it.
      }
      return
    }
  }

  #readModel(head: string): void {
    const quoted = MODEL.exec(head)?.[1]
    if (quoted === undefined) return
    try {
      this.#recorder.model(JSON.parse(quoted) as string)
    } catch {
      // An invalid escape; the model's name is only telemetry.
    }
  }
}

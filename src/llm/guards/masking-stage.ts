import type { FormatTexts, Piece } from './format-texts.ts'
import { ALLOW, type Guard, type TextStream } from './guard.ts'
import { type GuardCall, reportGuard } from './run-guards.ts'
import { hasText, madeEvent, type StreamEvent } from './stream-event.ts'
import { textsOf } from './texts.ts'

/** A guard on a stream: takes events one at a time and emits them once it has decided. */
export interface StreamStage {
  push(event: StreamEvent): void
  /** No more events; `done` follows the last one emitted. */
  end(): void
  /** The stream ends early, such as by a rejection: reports what has been decided. */
  leave(): void
  /** A call is pending, and events are held. */
  readonly waits: boolean
}

export interface StageOutput {
  next(event: StreamEvent): void
  done(): void
}

interface Open {
  readonly stream: TextStream
  piece: Piece
  name: string
}

/** A guard that masks without a call: text that it holds back is sent with a later event, or before the text ends. */
export class MaskingStage implements StreamStage {
  readonly waits = false
  readonly #guard: Guard
  readonly #start: () => TextStream
  readonly #format: FormatTexts
  readonly #call: GuardCall
  readonly #out: StageOutput
  readonly #open = new Map<string, Open>()
  readonly #begun: number
  readonly #masked = new Set<string>()
  #reported = false

  constructor(guard: Guard, start: () => TextStream, format: FormatTexts, call: GuardCall, out: StageOutput) {
    this.#guard = guard
    this.#start = start
    this.#format = format
    this.#call = call
    this.#out = out
    this.#begun = call.clock.mono()
  }

  push(event: StreamEvent): void {
    const { pieces, closed, wholes } = event.texts
    for (const piece of pieces) {
      if (!this.#guard.scope.has(piece.scope)) continue
      const open = this.#openOf(piece, event.name)
      piece.text = open.stream.push(piece.text)
    }
    for (const prefix of closed) this.#close(prefix, pieces)
    if (wholes.messages.length > 0) this.#maskWhole(event)
    if (hasText(event)) this.#out.next(event)
  }

  end(): void {
    this.#close('', [])
    this.#report()
    this.#out.done()
  }

  leave(): void {
    for (const { stream } of this.#open.values()) for (const rule of stream.masked()) this.#masked.add(rule)
    this.#report()
  }

  #report(): void {
    if (this.#reported) return
    this.#reported = true
    const rules = [...this.#masked]
    const verdict = rules.length > 0 ? ({ action: 'mask', texts: new Map(), rules } as const) : ALLOW
    reportGuard(this.#guard, 'response', verdict, this.#call, this.#begun)
  }

  #openOf(piece: Piece, name: string): Open {
    const open = this.#open.get(piece.key)
    if (open) {
      open.piece = piece
      open.name = name
      return open
    }
    const made = { stream: this.#start(), piece, name }
    this.#open.set(piece.key, made)
    return made
  }

  #close(prefix: string, pieces: readonly Piece[]): void {
    for (const [key, { stream, piece, name }] of this.#open) {
      if (!key.startsWith(prefix)) continue
      this.#open.delete(key)
      const rest = stream.end()
      for (const rule of stream.masked()) this.#masked.add(rule)
      if (rest === '') continue
      const last = pieces.findLast(each => each.key === key)
      if (last) last.text += rest
      else this.#out.next(madeEvent(this.#format, name, piece.alone(rest)))
    }
  }

  #maskWhole({ texts }: StreamEvent): void {
    for (const { runs } of texts.wholes.messages) {
      for (const run of runs) {
        if (!this.#guard.scope.has(run.scope)) continue
        run.texts = run.texts.map(text => {
          const stream = this.#start()
          const out = stream.push(text) + stream.end()
          for (const rule of stream.masked()) this.#masked.add(rule)
          return out
        })
      }
    }
    if (texts.wholes.write(textsOf(texts.wholes.messages))) texts.rewritten = true
  }
}

import type { FormatTexts, Piece } from './format-texts.ts'
import type { Guard, Refusal } from './guard.ts'
import type { StageOutput, StreamStage } from './masking-stage.ts'
import { type GuardCall, runGuards } from './run-guards.ts'
import { hasText, madeEvent, type StreamEvent } from './stream-event.ts'
import { type GuardedMessage, type Scope, type TextRun, textsOf } from './texts.ts'

/** UTF-16 units of text that are checked together. */
const WINDOW = 1024
/** How many of those are held for the next window: a match across the boundary is masked whole. */
const OVERLAP = 256

interface Pending {
  readonly scope: Scope
  /** Checked, but not sent. */
  carry: string
  /** Not checked yet. */
  text: string
  piece: Piece
  name: string
  closed: boolean
}

/** A guard that calls a service: events are held until it has answered for their text. */
export class AskingStage implements StreamStage {
  readonly #guard: Guard
  readonly #format: FormatTexts
  readonly #call: GuardCall
  readonly #out: StageOutput & { stop(reason: Refusal | Error): void; resume(): void }
  readonly #pending = new Map<string, Pending>()
  /** The outcomes of finished texts, which formats repeat whole. */
  readonly #known = new Map<string, string>()
  readonly #whole = new Map<string, { asked: string; sent: string }>()
  /** The last piece of each text: its remainder is sent in an event like that one. */
  readonly #pieces = new Map<string, Pending>()
  readonly #taken = new WeakSet<StreamEvent>()
  #queue: StreamEvent[] = []
  #asking = false
  #ended = false
  #over = false

  constructor(
    guard: Guard,
    format: FormatTexts,
    call: GuardCall,
    out: StageOutput & { stop(reason: Refusal | Error): void; resume(): void },
  ) {
    this.#guard = guard
    this.#format = format
    this.#call = call
    this.#out = out
  }

  get waits(): boolean {
    return this.#asking
  }

  push(event: StreamEvent): void {
    this.#queue.push(event)
    if (!this.#asking) this.#advance()
  }

  end(): void {
    this.#ended = true
    if (!this.#asking) this.#advance()
  }

  /** Each call has been reported by itself. */
  leave(): void {
    this.#over = true
  }

  #advance(): void {
    if (this.#over) return
    const batch = this.#queue
    for (const event of batch) if (!this.#taken.has(event)) this.#take(event)
    const open = [...this.#pending.values()]
    const size = open.reduce((sum, { carry, text }) => sum + carry.length + text.length, 0)
    const due = this.#ended || size >= WINDOW || open.some(({ closed }) => closed) || batch.some(isWhole)
    if (size > 0 && !due) return
    this.#queue = []
    if (batch.length === 0 && !(this.#ended && open.length > 0)) {
      this.#finish()
      return
    }
    this.#ask(batch)
  }

  #take(event: StreamEvent): void {
    this.#taken.add(event)
    for (const piece of event.texts.pieces) {
      if (!this.#guard.scope.has(piece.scope)) continue
      const open = this.#pending.get(piece.key)
      if (open) {
        open.text += piece.text
        open.piece = piece
        open.name = event.name
      } else {
        this.#pending.set(piece.key, {
          scope: piece.scope,
          carry: '',
          text: piece.text,
          piece,
          name: event.name,
          closed: false,
        })
      }
    }
    for (const prefix of event.texts.closed) {
      for (const [key, open] of this.#pending) if (key.startsWith(prefix)) open.closed = true
    }
  }

  #ask(batch: readonly StreamEvent[]): void {
    const asked = new Map<string, TextRun>()
    const messages: GuardedMessage[] = []
    for (const [key, { scope, carry, text }] of this.#pending) {
      const run: TextRun = { scope, texts: [carry + text], sites: [] }
      asked.set(key, run)
      messages.push({ role: 'assistant', runs: [run], joint: '', told: scope === 'messages' })
    }
    const ending = this.#ending()
    const wholes = batch.flatMap(({ texts }) => texts.wholes.messages)
    const repeated = wholes.filter(({ runs }) => runs.every(run => this.#repeats(run, ending)))
    messages.push(...wholes.filter(message => !repeated.includes(message)))
    try {
      const verdict = runGuards([this.#guard], 'response', messages, this.#call)
      if (!(verdict instanceof Promise)) {
        this.#settle(verdict, batch, asked)
        return
      }
      this.#asking = true
      verdict.then(
        refusal => {
          this.#asking = false
          this.#settle(refusal, batch, asked)
          this.#out.resume()
        },
        (error: Error) => {
          this.#asking = false
          this.#stop(error)
        },
      )
    } catch (error) {
      this.#stop(error as Error)
    }
  }

  /** The texts that end now, each as a whole. */
  #ending(): ReadonlySet<string> {
    const texts = new Set<string>()
    for (const [key, { text, closed }] of this.#pending) {
      if (closed || this.#ended) texts.add((this.#whole.get(key)?.asked ?? '') + text)
    }
    return texts
  }

  /** Whether the text was checked piece by piece, or is being checked. */
  #repeats({ sites }: TextRun, ending: ReadonlySet<string>): boolean {
    return sites.every(({ text }) => this.#known.has(text) || ending.has(text))
  }

  #settle(refusal: Refusal | undefined, batch: readonly StreamEvent[], asked: ReadonlyMap<string, TextRun>): void {
    if (this.#over) return
    if (refusal) {
      this.#stop(refusal)
      return
    }
    const sent = new Map<string, string>()
    for (const [key, run] of asked) sent.set(key, this.#decided(key, run.texts[0] as string))
    for (const event of batch) this.#give(event, sent)
    for (const key of [...sent.keys()]) this.#rest(key, sent)
    this.#advance()
  }

  /** How much of the text of `key` can be sent now. */
  #decided(key: string, text: string): string {
    const open = this.#pending.get(key) as Pending
    const whole = this.#whole.get(key) ?? { asked: '', sent: '' }
    this.#whole.set(key, whole)
    whole.asked += open.text
    const last = open.closed || this.#ended
    const at = last ? text.length : Math.max(0, text.length - OVERLAP)
    whole.sent += text.slice(0, at)
    open.carry = text.slice(at)
    open.text = ''
    if (last) {
      this.#pending.delete(key)
      this.#whole.delete(key)
      this.#known.set(whole.asked, whole.sent)
    }
    this.#pieces.set(key, open)
    return text.slice(0, at)
  }

  #give(event: StreamEvent, sent: Map<string, string>): void {
    const { pieces, closed, wholes } = event.texts
    for (const piece of pieces) {
      if (!this.#guard.scope.has(piece.scope)) continue
      piece.text = sent.get(piece.key) ?? ''
      sent.delete(piece.key)
    }
    for (const prefix of closed) for (const key of [...sent.keys()]) if (key.startsWith(prefix)) this.#rest(key, sent)
    for (const { runs } of wholes.messages) {
      for (const run of runs)
        run.texts = run.sites.map(({ text }, i) => this.#known.get(text) ?? (run.texts[i] as string))
    }
    if (wholes.write(textsOf(wholes.messages))) event.texts.rewritten = true
    if (hasText(event)) this.#out.next(event)
  }

  /** Sends the remainder of a text that has no further event. */
  #rest(key: string, sent: Map<string, string>): void {
    const text = sent.get(key)
    sent.delete(key)
    const open = this.#pieces.get(key)
    if (text && open) this.#out.next(madeEvent(this.#format, open.name, open.piece.alone(text)))
  }

  #finish(): void {
    if (!this.#ended || this.#over) return
    this.#over = true
    this.#out.done()
  }

  #stop(reason: Refusal | Error): void {
    this.#over = true
    this.#queue = []
    this.#pending.clear()
    this.#out.stop(reason)
  }
}

function isWhole({ texts }: StreamEvent): boolean {
  return texts.wholes.messages.some(({ runs }) => runs.length > 0)
}

import type { JsonObject } from '../chat/json.ts'
import { type MessageTexts, type Scope, TextCollector } from './texts.ts'

/** Where the texts of one format stand; one file for each format of conversations. */
export interface FormatTexts {
  /** `native`: the provider speaks the format, and checks itself what it has signed. */
  request(body: JsonObject, into: TextCollector, native: boolean): void
  reply(reply: JsonObject, into: TextCollector): void
  event(event: JsonObject, found: EventTexts): void
}

/** A text of a stream that goes on in later events under the same key. */
export interface Piece {
  readonly key: string
  readonly scope: Scope
  readonly holder: JsonObject
  readonly name: string
  text: string
  /** An event with nothing but `text` in its place. */
  alone(text: string): JsonObject
}

/** What guards look at in one event of a stream. */
export class EventTexts {
  readonly pieces: Piece[] = []
  /** Texts that come whole. */
  readonly wholes = new TextCollector()
  /** Beginnings of the keys that end here. */
  readonly closed: string[] = []
  /** It says more than its pieces: it is sent even when nothing of them is left. */
  kept = false
  /** A text that came whole is another one now, or a member was. */
  rewritten = false
  #dropped = false

  piece(key: string, scope: Scope, holder: JsonObject, name: string, alone: (text: string) => JsonObject): void {
    const text = holder[name]
    if (typeof text === 'string') this.pieces.push({ key, scope, holder, name, text, alone })
  }

  whole(role: string): MessageTexts {
    return this.wholes.message(role)
  }

  closes(prefix: string): void {
    this.closed.push(prefix)
  }

  stays(): void {
    this.kept = true
  }

  /** What repeats texts in another form, token by token. */
  drop(holder: JsonObject, name: string): void {
    if (holder[name] === null) return
    if (Array.isArray(holder[name])) {
      if ((holder[name] as unknown[]).length === 0) return
      holder[name] = []
    } else delete holder[name]
    this.#dropped = true
  }

  /** Puts the texts of the pieces into the event. True: it is not as it came. */
  write(): boolean {
    let changed = this.#dropped
    for (const { holder, name, text } of this.pieces) {
      if (holder[name] === text) continue
      holder[name] = text
      changed = true
    }
    return changed
  }
}

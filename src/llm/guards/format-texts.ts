import type { JsonObject } from '../chat/json.ts'
import { type MessageTexts, type Scope, TextCollector } from './texts.ts'

/** Locates the texts of one format; one file per conversation format. */
export interface FormatTexts {
  /** `native`: the provider speaks the format, and verifies its own signatures. */
  request(body: JsonObject, into: TextCollector, native: boolean): void
  reply(reply: JsonObject, into: TextCollector): void
  event(event: JsonObject, found: EventTexts): void
}

/** A streamed text that continues in later events under the same key. */
export interface Piece {
  readonly key: string
  readonly scope: Scope
  readonly holder: JsonObject
  readonly name: string
  text: string
  /** An event with only `text` in its place. */
  alone(text: string): JsonObject
}

/** What guards check in one stream event. */
export class EventTexts {
  readonly pieces: Piece[] = []
  /** Texts that arrive whole. */
  readonly wholes = new TextCollector()
  /** Prefixes of the keys that end here. */
  readonly closed: string[] = []
  /** The event has other content than its pieces, so it is sent even when these are empty. */
  kept = false
  /** A whole text or another member was replaced. */
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

  /** Removes a token-by-token copy of texts in another form. */
  drop(holder: JsonObject, name: string): void {
    if (holder[name] === null) return
    if (Array.isArray(holder[name])) {
      if ((holder[name] as unknown[]).length === 0) return
      holder[name] = []
    } else delete holder[name]
    this.#dropped = true
  }

  /** Writes the texts of the pieces into the event. True if it differs from the original. */
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

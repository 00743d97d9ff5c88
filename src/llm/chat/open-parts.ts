import type { ChatEvent, OpenEvent, StreamedKind } from './chat.ts'

/** Numbers the parts of a stream for a decoder, and tracks the open ones. */
export class OpenParts {
  #next = 0
  /** By the format's own key: an index, an item id, `text`. */
  readonly #open = new Map<string, number>()

  /** The part's number. Undefined if it is not open. */
  get(key: string): number | undefined {
    return this.#open.get(key)
  }

  open(key: string, kind: StreamedKind, choice: number, out: ChatEvent[], about: Partial<OpenEvent> = {}): number {
    const part = this.#next++
    this.#open.set(key, part)
    out.push({ ...about, type: 'open', part, choice, kind })
    return part
  }

  close(key: string, out: ChatEvent[]): void {
    const part = this.#open.get(key)
    if (part === undefined) return
    this.#open.delete(key)
    out.push({ type: 'close', part })
  }

  /** Closes the parts whose key begins with `prefix`. */
  closeAll(out: ChatEvent[], prefix = ''): void {
    for (const key of [...this.#open.keys()]) if (key.startsWith(prefix)) this.close(key, out)
  }
}

export function parseEvent(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}

/** The event for a stream that ended before its response was complete. */
export function cutStream(): ChatEvent {
  return {
    type: 'error',
    error: { kind: 'server', message: 'the provider ended the stream before the reply was complete' },
  }
}

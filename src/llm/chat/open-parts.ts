import type { ChatEvent, OpenEvent, StreamedKind } from './chat.ts'

/** Numbers the parts of a stream for a reader, and keeps track of those that are open. */
export class OpenParts {
  #next = 0
  /** By what the format calls them: an index, an item's id, `text`. */
  readonly #open = new Map<string, number>()

  /** The part's number; undefined: it is not open. */
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

  /** Those whose key begins with `prefix`. */
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

/** The end of a stream that stopped before its reply was complete. */
export function cutStream(): ChatEvent {
  return {
    type: 'error',
    error: { kind: 'server', message: 'the provider ended the stream before the reply was complete' },
  }
}

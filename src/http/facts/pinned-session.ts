import { hash } from 'node:crypto'

/** What a session stays with, as tags: the names of endpoints are not for clients. */
export interface Pins {
  readonly backend?: string | undefined
  readonly endpoint?: string | undefined
}

/** The client's session in one request: where its earlier requests went, and where this one goes. */
export class PinnedSession {
  readonly #before: Pins
  #now: { backend?: string; endpoint?: string } = {}

  constructor(before: Pins = {}) {
    this.#before = before
  }

  /** The tag of the part that the session stays with, if it has one. */
  wants(part: keyof Pins): string | undefined {
    return this.#before[part]
  }

  /** The request goes to the part with this tag. */
  goesTo(part: keyof Pins, tag: string): void {
    this.#now[part] = tag
  }

  /** Undefined if the request has not reached a backend. */
  get pins(): Pins | undefined {
    return this.#now.backend === undefined ? undefined : this.#now
  }
}

export function tagOf(name: string): string {
  return hash('sha256', name, 'base64url').slice(0, 12)
}

import type { ReadEvent } from '../events/events.ts'
import { addEvents, breakOff, EMPTY, type TraceState } from '../events/state.ts'
import { rowInAscii } from '../terminal/cells.ts'
import type { KeyPress } from '../terminal/keyboard.ts'
import type { Size } from '../terminal/layout.ts'
import type { Quit } from '../terminal/leaving.ts'
import { type Asked, type Browse, FRESH } from './browse.ts'
import { BLIND, type Lookups } from './detail.ts'
import { press } from './press.ts'
import { type Picture, pictureOf, type StreamStatus } from './screen.ts'

/** Everything that the view depends on. Replaced as a whole on every change. */
export interface SessionState {
  readonly trace: TraceState
  readonly browse: Browse
  readonly status: StreamStatus
}

/** Events are batched between frames. */
const FRAME_MS = 33

/** State driven by the stream and the keyboard; the view draws `current` and listens with `subscribe`. */
export class TraceSession {
  #current: SessionState
  #listeners = new Set<() => void>()
  #waiting: ReadEvent[] = []
  #timer: NodeJS.Timeout | undefined

  readonly #look: Lookups
  readonly #ascii: boolean

  /** `ascii`: for terminals without box-drawing characters and arrows. */
  constructor(status: StreamStatus, look: Lookups = BLIND, ascii = false) {
    this.#look = look
    this.#ascii = ascii
    this.#current = { trace: EMPTY, browse: FRESH, status }
  }

  /** Handles actions beyond navigation. */
  onAsked: (asked: Asked) => void = () => {}
  /** Releases the terminal while `run` runs; set by the view. */
  suspend: (run: () => Promise<void>) => Promise<void> = run => run()

  get current(): SessionState {
    return this.#current
  }

  get quit(): Quit | undefined {
    return this.#current.browse.quit
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Drawn with the next frame. */
  add(event: ReadEvent): void {
    this.#waiting.push(event)
    this.#timer ??= setTimeout(() => this.flush(), FRAME_MS)
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const events = this.#waiting
    this.#waiting = []
    if (events.length > 0) this.#replace({ trace: addEvents(this.#current.trace, events) })
  }

  /** Requests in flight will not end: their stream is over. */
  breakOff(): void {
    this.flush()
    this.#replace({ trace: breakOff(this.#current.trace) })
  }

  setStatus(status: StreamStatus): void {
    this.flush()
    this.#replace({ status })
  }

  /** Shown until the next key. */
  say(note: string): void {
    this.#replace({ browse: { ...this.#current.browse, note } })
  }

  compare(left: string, right: string): void {
    this.flush()
    this.#replace({ browse: { ...this.#current.browse, comparing: { left, right }, top: 0 } })
  }

  picture(size: Size): Picture {
    const { trace, browse, status } = this.#current
    const picture = pictureOf(trace, browse, status, size, this.#look)
    return this.#ascii ? { ...picture, rows: picture.rows.map(rowInAscii) } : picture
  }

  press(key: KeyPress, size: Size): void {
    const { trace, browse } = this.#current
    const { asked, ...rest } = press(browse, key, trace, this.picture(size))
    this.#replace({ browse: { ...rest, asked: undefined } })
    if (asked !== undefined) this.onAsked(asked)
  }

  /** Stops drawing. */
  close(): void {
    clearTimeout(this.#timer)
    this.#listeners.clear()
  }

  #replace(change: Partial<SessionState>): void {
    this.#current = { ...this.#current, ...change }
    for (const listener of this.#listeners) listener()
  }
}

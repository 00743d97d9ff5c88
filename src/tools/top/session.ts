import type { KeyPress } from '../terminal/keyboard.ts'
import type { Size } from '../terminal/layout.ts'
import type { Quit } from '../terminal/leaving.ts'
import { type Browse, FRESH, type Surroundings } from './browse.ts'
import { press } from './press.ts'
import { type Picture, pictureOf } from './screen.ts'
import { addLook, EMPTY, type Look, type TopState } from './state.ts'

/** State driven by the gateway and the keyboard; the view draws `current` and listens with `subscribe`. */
export class TopSession {
  readonly #around: Surroundings
  readonly #listeners = new Set<() => void>()
  #current: { readonly top: TopState; readonly browse: Browse } = { top: EMPTY, browse: FRESH }

  constructor(around: Surroundings) {
    this.#around = around
  }

  get current(): object {
    return this.#current
  }

  get quit(): Quit | undefined {
    return this.#current.browse.quit
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  add(look: Look): void {
    this.#replace({ ...this.#current, top: addLook(this.#current.top, look) })
  }

  picture(size: Size): Picture {
    const { top, browse } = this.#current
    return pictureOf(top, browse, this.#around, size)
  }

  press(key: KeyPress, size: Size): void {
    const { top, browse } = this.#current
    this.#replace({ top, browse: press(browse, key, top, this.picture(size)) })
  }

  #replace(next: { readonly top: TopState; readonly browse: Browse }): void {
    this.#current = next
    for (const listener of this.#listeners) listener()
  }
}

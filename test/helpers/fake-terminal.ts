import { once } from 'node:events'
import { PassThrough, Writable } from 'node:stream'
import { charWidth } from '../../src/diagnostics/visible.ts'

/** A terminal's screen: keeps what is written to it and draws it, as far as Ink's control sequences go. */
export class FakeScreen extends Writable {
  readonly isTTY = true
  /** Everything that was ever written. */
  text = ''
  columns: number
  rows: number
  #cells: string[][] = []
  #row = 0
  #column = 0

  constructor(columns = 80, rows = 24) {
    super({ decodeStrings: false })
    this.columns = columns
    this.rows = rows
  }

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    const text = chunk.toString()
    this.text += text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences are what is read here
    for (const [token] of text.matchAll(/\u001b\[[?>]?[\d;]*[A-Za-z]|[\s\S]/gu)) this.#draw(token)
    this.emit('written')
    done()
  }

  /** What a person sees, without trailing blanks. */
  get shown(): string {
    return Array.from({ length: this.rows }, (_, i) => (this.#cells[i] ?? []).join('').trimEnd()).join('\n')
  }

  resize(columns: number, rows: number): void {
    this.columns = columns
    this.rows = rows
    this.emit('resize')
  }

  /** Resolves when `condition` holds for what is shown. */
  async until(condition: (shown: string) => boolean): Promise<void> {
    while (!condition(this.shown)) await new Promise(resolve => this.once('written', resolve))
  }

  /**
   * Resolves when `expected` is shown, or else when nothing has been drawn for long: comparing then tells what is there
   * instead.
   */
  async untilShown(expected: string | undefined): Promise<void> {
    const long = expected === undefined ? 1000 : 20_000
    for (let quiet = false; this.shown !== expected && !quiet; ) {
      quiet = await once(this, 'written', { signal: AbortSignal.timeout(long) }).then(
        () => false,
        () => true,
      )
    }
  }

  #draw(token: string): void {
    if (token.length === 1 || !token.startsWith('\u001b')) {
      this.#put(token)
      return
    }
    const count = Number(/\d+/.exec(token)?.[0] ?? 1)
    const line = this.#line()
    const moves: Record<string, () => void> = {
      A: () => this.#move(this.#row - count, this.#column),
      B: () => this.#move(this.#row + count, this.#column),
      C: () => this.#move(this.#row, this.#column + count),
      D: () => this.#move(this.#row, this.#column - count),
      E: () => this.#move(this.#row + count, 0),
      F: () => this.#move(this.#row - count, 0),
      G: () => this.#move(this.#row, count - 1),
      H: () => {
        const [row = 1, column = 1] = (token.match(/\d+/g) ?? []).map(Number)
        this.#move(row - 1, column - 1)
      },
      J: () => this.#cells.splice(this.#row + (this.#column === 0 ? 0 : 1)),
      K: () => (token === '\u001b[2K' ? line.splice(0) : line.splice(this.#column)),
      m: () => {},
      h: () => {
        if (token === ENTER_ALTERNATE) this.#cells = []
      },
      l: () => {
        if (token === LEAVE_ALTERNATE) this.#cells = []
      },
    }
    const move = moves[token.at(-1)!]
    if (move === undefined) throw new Error(`the fake terminal does not know ${JSON.stringify(token)}`)
    move()
  }

  #put(char: string): void {
    if (char === '\n') this.#move(this.#row + 1, 0)
    else if (char === '\r') this.#move(this.#row, 0)
    else {
      const width = charWidth(char)
      const line = this.#line()
      while (line.length < this.#column) line.push(' ')
      if (width === 0) line[this.#column - 1] += char
      else line[this.#column] = char
      if (width === 2) line[this.#column + 1] = ''
      this.#column += width
    }
  }

  #line(): string[] {
    while (this.#cells.length <= this.#row) this.#cells.push([])
    return this.#cells[this.#row]!
  }

  #move(row: number, column: number): void {
    this.#row = Math.max(0, row)
    this.#column = Math.max(0, column)
    // A real terminal scrolls: what stood on top is gone.
    while (this.#row >= this.rows) {
      this.#cells.shift()
      this.#row--
    }
  }
}

/** A keyboard that remembers whether it was given back. */
export class FakeKeyboard extends PassThrough {
  readonly isTTY = true
  raw = false

  setRawMode(raw: boolean): this {
    this.raw = raw
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}

export const ENTER_ALTERNATE = '\u001b[?1049h'
export const LEAVE_ALTERNATE = '\u001b[?1049l'
export const SHOW_CURSOR = '\u001b[?25h'

/** What a terminal must be like when a program has gone. */
export function isRestored(screen: FakeScreen, keyboard: FakeKeyboard): boolean {
  const left = screen.text.lastIndexOf(LEAVE_ALTERNATE) > screen.text.lastIndexOf(ENTER_ALTERNATE)
  return left && screen.text.lastIndexOf(SHOW_CURSOR) > screen.text.lastIndexOf('\u001b[?25l') && !keyboard.raw
}

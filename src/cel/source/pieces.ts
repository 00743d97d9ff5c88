/** Text composed of parts of another text and of new ones, which remembers where each part is from. */
export class Pieces {
  text = ''
  readonly #source: string
  readonly #parts: { readonly at: number; readonly from: number; readonly copied: boolean }[] = []

  constructor(source: string) {
    this.#source = source
  }

  copy(from: number, to: number): void {
    this.#parts.push({ at: this.text.length, from, copied: true })
    this.text += this.#source.slice(from, to)
  }

  /** `from`: the place in the source that this stands for. */
  add(text: string, from: number): void {
    this.#parts.push({ at: this.text.length, from, copied: false })
    this.text += text
  }

  /** The offset in the source for one in the text. */
  readonly place = (offset: number): number => {
    const part = this.#parts.findLast(({ at }) => at <= offset)
    if (part === undefined) return offset
    return part.copied ? part.from + offset - part.at : part.from
  }
}

/** Functions that call one another can grow an expression exponentially. */
export class ExpansionTooLarge extends Error {}

/** A text that a pattern matches entirely. Undefined for patterns beyond this reader. */
export function sampleOf(pattern: string): string | undefined {
  const reader = new Reader(pattern.replace(/^\(\?[a-z]+\)/, '').replace(/^\^/, ''))
  try {
    const text = reader.alternatives()
    return reader.done ? text : undefined
  } catch (error) {
    if (error instanceof Unread || error instanceof SyntaxError) return undefined
    throw error
  }
}

class Unread extends Error {}

/** Takes the first alternative of each choice, and the minimum of each repetition. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get done(): boolean {
    return this.#at === this.#text.length
  }

  alternatives(): string {
    const first = this.#sequence()
    while (this.#take('|')) this.#sequence()
    return first
  }

  #sequence(): string {
    let out = ''
    while (!this.done && !/[|)]/.test(this.#peek())) out += this.#repeated(this.#atom())
    return out
  }

  #atom(): string {
    const char = this.#next()
    if (char === '(') {
      const name = /^\?(?:P?<\w+>|:)/.exec(this.#text.slice(this.#at))?.[0]
      if (name === undefined && this.#peek() === '?') throw new Unread()
      this.#at += name?.length ?? 0
      const inner = this.alternatives()
      if (!this.#take(')')) throw new Unread()
      return inner
    }
    if (char === '[') return this.#class()
    if (char === '\\') return escaped(this.#next())
    if (char === '.') return 'x'
    if (char === '$') return ''
    if (/[*+?{]/.test(char)) throw new Unread()
    return char
  }

  #class(): string {
    const negated = this.#take('^')
    const end = this.#text.indexOf(']', this.#at + 1)
    if (end < 0) throw new Unread()
    const body = this.#text.slice(this.#at, end)
    this.#at = end + 1
    if (!negated) return body.startsWith('\\') ? escaped(body[1] ?? '') : (body[0] ?? '')
    const free = [...'x1-_A'].find(char => !new RegExp(`[${body}]`).test(char))
    if (free === undefined) throw new Unread()
    return free
  }

  #repeated(atom: string): string {
    const [all = '', least] = /^(?:[*?]|\+|\{(\d+)(?:,\d*)?\})\??/.exec(this.#text.slice(this.#at)) ?? []
    this.#at += all.length
    if (all === '') return atom
    if (least !== undefined) return atom.repeat(Math.min(Number(least), 256))
    // An optional part is more telling if present.
    return atom
  }

  #peek(): string {
    return this.#text[this.#at] ?? ''
  }

  #next(): string {
    if (this.done) throw new Unread()
    return this.#text[this.#at++] as string
  }

  #take(char: string): boolean {
    if (this.#peek() !== char) return false
    this.#at++
    return true
  }
}

const CLASSES: Readonly<Record<string, string>> = { d: '1', w: 'x', s: ' ', D: 'x', W: '-', S: 'x', b: '', B: '' }

function escaped(char: string): string {
  if (/[pPQuxAzc0-9]/.test(char)) throw new Unread()
  return CLASSES[char] ?? char
}

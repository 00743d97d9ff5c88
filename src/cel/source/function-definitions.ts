import type { Problem } from '../../schema/builder.ts'
import { skip } from './adapt-source.ts'

/** One function as written. Offsets are those of the whole text. */
export interface Definition {
  readonly name: string
  /** The range of the name. */
  readonly at: readonly [start: number, end: number]
  /** `this.name(…)`: called on a value, which is `this` in the body. */
  readonly method: boolean
  readonly parameters: readonly string[]
  /** The last parameter takes all remaining arguments, as a list. */
  readonly rest: boolean
  /** The range of the expression between the braces. */
  readonly body: readonly [start: number, end: number]
}

const NAME = /[A-Za-z_]\w*/y
const FORM = 'Functions are written `name(a, b) { expression }`.'

/** Reads `name(a, b) { expression }` and `this.name(a, rest...) { expression }`, one after the other. */
export function readDefinitions(text: string): readonly Definition[] | { readonly problem: Problem } {
  const scanner = new Scanner(text)
  const out: Definition[] = []
  try {
    while (!scanner.atEnd()) {
      const definition = readDefinition(scanner)
      if (out.some(({ name }) => name === definition.name)) {
        throw new Misread(`\`${definition.name}\` is defined twice`, definition.at, 'Give one of them another name.')
      }
      out.push(definition)
    }
  } catch (error) {
    if (error instanceof Misread) return { problem: { message: error.message, help: error.help, span: error.span } }
    throw error
  }
  return out
}

function readDefinition(scanner: Scanner): Definition {
  let at = scanner.name('a function')
  const method = scanner.textOf(at) === 'this' && scanner.take('.')
  if (method) at = scanner.name('a method')
  const name = scanner.textOf(at)
  if (name === 'this') throw new Misread('a method is written `this.name(…) { … }`', at, FORM)
  scanner.expect('(')
  const parameters: string[] = []
  let rest = false
  while (!scanner.take(')')) {
    if (parameters.length > 0) scanner.expect(',')
    const place = scanner.name('a parameter')
    const parameter = scanner.textOf(place)
    if (rest) throw new Misread('only the last parameter can take the remaining arguments', place, FORM)
    if (parameter === 'this' || parameters.includes(parameter)) {
      throw new Misread(`\`${name}\` has two parameters \`${parameter}\``, place, 'Give one of them another name.')
    }
    rest = scanner.take('...')
    parameters.push(parameter)
  }
  scanner.expect('{')
  return { name, at, method, parameters, rest, body: scanner.block(name, at) }
}

class Misread extends Error {
  readonly span: readonly [number, number]
  readonly help: string
  constructor(message: string, span: readonly [number, number], help: string) {
    super(message)
    this.span = span
    this.help = help
  }
}

class Scanner {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  textOf([start, end]: readonly [number, number]): string {
    return this.#text.slice(start, end)
  }

  atEnd(): boolean {
    for (;;) {
      while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++
      if (!this.#text.startsWith('//', this.#at)) return this.#at >= this.#text.length
      this.#at += skip(this.#text, this.#at)
    }
  }

  name(what: string): readonly [number, number] {
    this.atEnd()
    NAME.lastIndex = this.#at
    const found = NAME.exec(this.#text)?.[0] ?? ''
    const start = this.#at
    if (found === '') throw new Misread(`the name of ${what} is expected here`, [start, start + 1], FORM)
    this.#at += found.length
    return [start, this.#at]
  }

  take(mark: string): boolean {
    this.atEnd()
    if (!this.#text.startsWith(mark, this.#at)) return false
    this.#at += mark.length
    return true
  }

  expect(mark: string): void {
    if (!this.take(mark)) throw new Misread(`\`${mark}\` is expected here`, [this.#at, this.#at + 1], FORM)
  }

  /** The range up to the closing brace, which is consumed. Braces in text and comments do not count. */
  block(name: string, at: readonly [number, number]): readonly [number, number] {
    const start = this.#at
    for (let depth = 1; this.#at < this.#text.length; this.#at += skip(this.#text, this.#at) || 1) {
      const c = this.#text[this.#at]
      if (c === '{') depth++
      if (c === '}' && --depth === 0) return [start, this.#at++]
    }
    throw new Misread(`the braces of \`${name}\` are not closed`, at, FORM)
  }
}

import { readdirSync, readFileSync } from 'node:fs'
import { textConcealer } from '../../src/cluster/conceal-text.ts'
import { load } from '../../src/config/load.ts'
import { offlineRuntime } from '../../src/config/offline-runtime.ts'
import type { Diagnostic, Range } from '../../src/diagnostics/diagnostic.ts'
import { type Random, randomFrom } from './single-mistakes.ts'

const PIECES = [
  '- ',
  ': ',
  '\n',
  '\n  ',
  '{',
  '}',
  '[',
  ']',
  '"',
  "'",
  '|\n',
  '>-\n',
  '&a ',
  '*a',
  '<<: *a\n',
  '!!binary ',
  '? ',
  '---\n',
  '...\n',
  '# ',
  '\t',
  '\r\n',
  '\u2028',
  '\ufeff',
  '\u0000',
  '\ud800',
  '💥',
  '$',
  '${X:-',
  '$$',
  '{{ .Values.x }}',
  '__proto__: ',
  'constructor: ',
  'toString: ',
  '9007199254740993',
  '-0',
  '.nan',
  '1e999',
  '~',
  'null',
  '0x1F',
  '((((((((((',
  '[[[[[[[[[[',
  'a.b.c.d(',
  '(a+)+$',
  'x'.repeat(2000),
] as const

/** Texts that may be anything, most of them close to a configuration. The same for the same seed. */
export class FuzzedInputs {
  readonly #seeds: readonly string[]
  readonly #random: Random

  constructor(seed: number) {
    this.#random = randomFrom(seed)
    const root = new URL('../../fixtures/', import.meta.url)
    this.#seeds = ['ok', 'err', 'codes', 'lint', 'realistic'].flatMap(folder =>
      readdirSync(new URL(`${folder}/`, root))
        .filter(name => name.endsWith('.yaml') && !name.includes('expansion'))
        .sort()
        .map(name => readFileSync(new URL(`${folder}/${name}`, root), 'utf8')),
    )
  }

  next(): string {
    const kind = this.#random()
    if (kind < 0.05) return Array.from({ length: this.#below(60) }, () => this.#pick(PIECES)).join('')
    if (kind < 0.1)
      return Array.from({ length: this.#below(400) }, () => String.fromCharCode(this.#below(0x250))).join('')
    let text = this.#pick(this.#seeds)
    for (let left = 1 + this.#below(kind < 0.7 ? 2 : 12); left > 0; left--) text = this.#changed(text)
    return text.slice(0, 200_000)
  }

  #changed(text: string): string {
    const at = this.#below(text.length + 1)
    const lines = text.split('\n')
    const line = this.#below(lines.length)
    switch (this.#below(8)) {
      case 0:
        return text.slice(0, at) + this.#pick(PIECES) + text.slice(at)
      case 1:
        return text.slice(0, at) + text.slice(at + 1 + this.#below(20))
      case 2:
        return text.slice(0, at)
      case 3:
        return lines.toSpliced(line, 1).join('\n')
      case 4:
        return lines.toSpliced(line, 0, lines[this.#below(lines.length)]!).join('\n')
      case 5:
        return lines.with(line, ' '.repeat(this.#below(5)) + lines[line]!).join('\n')
      case 6: {
        const other = this.#pick(this.#seeds).split('\n')
        return lines.toSpliced(line, 0, ...other.slice(this.#below(other.length), this.#below(other.length))).join('\n')
      }
      default:
        return lines
          .with(
            line,
            lines[line]!.replace(/: ?.*$/, () => `: ${this.#pick(PIECES)}`),
          )
          .join('\n')
    }
  }

  #below(n: number): number {
    return Math.floor(this.#random() * n)
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#below(items.length)]!
  }
}

const concealer = textConcealer({ resources: true })

/** What is wrong with how a text is read; undefined when nothing is. Never throws. */
export async function faultOf(text: string): Promise<string | undefined> {
  let found: readonly Diagnostic[]
  try {
    const options = {
      env: { A: 'a' },
      tier: 'offline',
      runtime: offlineRuntime(),
      readReferenced: () => undefined,
    } as const
    found = (await load('config.yaml', text, options)).diagnostics
    const shown = (await concealer)('config.yaml', text)
    if (shown.length !== text.length) return `is shown with ${shown.length} characters instead of ${text.length}`
  } catch (error) {
    return `throws: ${error instanceof Error ? error.stack : String(error)}`
  }
  const inside = ({ start, end }: Range) =>
    start.offset >= 0 && start.offset <= end.offset && end.offset <= text.length && start.line >= 1 && start.col >= 1
  const outside = found.find(d => !inside(d.range) || d.related.some(place => !inside(place.range)))
  if (outside) return `${outside.code} stands outside of the text: ${JSON.stringify(outside.range)}`
  const silent = found.find(d => d.message === '')
  return silent && `${silent.code} says nothing`
}

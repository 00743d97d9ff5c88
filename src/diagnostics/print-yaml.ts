import { stringify } from 'yaml'
import { Placeholder } from '../schema/placeholder.ts'
import { printableJson } from './render/json.ts'

export interface PrintOptions {
  /** Write `$` as `$$`, so that reading the text with variables gives the same value. */
  readonly escapeDollars?: boolean
}

/**
 * A value as YAML text that readers of YAML 1.1 and 1.2 agree on. Shared parts are written out, unset variables keep
 * their `$NAME`, undefined fields are left out.
 */
export function printYaml(value: unknown, options: PrintOptions = {}): string {
  return `${new YamlPrinter(options.escapeDollars === true).print(value, '')}\n`
}

/**
 * How a scalar has to be written is the library's to say. The layout around it is done here, as the library does it and
 * in a tenth of the time: dumps have a hundred thousand lines with few different words.
 */
class YamlPrinter {
  readonly #dollars: boolean
  readonly #scalars = new Map<unknown, string>()

  constructor(dollars: boolean) {
    this.#dollars = dollars
  }

  /** Without the final line break. The first line is not indented. */
  print(value: unknown, indent: string): string {
    if (value instanceof Placeholder) return this.#scalar(value.text)
    if (typeof value === 'string') return this.#text(this.#dollars ? value.replaceAll('$', '$$$$') : value, indent)
    if (typeof value !== 'object' || value === null) return this.#scalar(value)
    if (Array.isArray(value)) return this.#list(value, indent)
    return this.#map(value, indent)
  }

  #list(items: readonly unknown[], indent: string): string {
    if (items.length === 0) return '[]'
    const inner = `${indent}  `
    return items.map(item => `- ${this.print(item === undefined ? null : item, inner)}`).join(`\n${indent}`)
  }

  #map(map: object, indent: string): string {
    const fields = Object.entries(map).filter(([, field]) => field !== undefined)
    if (fields.length === 0) return '{}'
    return fields.map(([key, field]) => this.#field(key, field, indent)).join(`\n${indent}`)
  }

  #field(key: string, field: unknown, indent: string): string {
    const name = this.#key(key)
    const nested = typeof field === 'object' && field !== null && !(field instanceof Placeholder)
    const inner = `${indent}  `
    const text = this.print(field, inner)
    return nested && text !== '{}' && text !== '[]' ? `${name}:\n${inner}${text}` : `${name}: ${text}`
  }

  #key(key: string): string {
    if (MISREAD.test(key)) return escaped(key)
    // Where a key needs more than a line, the library writes it in another form, which says the same.
    return key.includes('\n') || key.length > 1000 ? JSON.stringify(key) : this.#scalar(key)
  }

  /** Text of several lines depends on where it stands. */
  #text(text: string, indent: string): string {
    if (MISREAD.test(text)) return escaped(text)
    if (!text.includes('\n')) return this.#scalar(text)
    if (indent === '') return stringify(text, SETTINGS).replace(/\n$/, '')
    const inMap = stringify({ k: text }, SETTINGS).slice('k: '.length).replace(/\n$/, '')
    return inMap.replaceAll(/\n(?=[^\n])/g, `\n${indent.slice(2)}`)
  }

  #scalar(value: unknown): string {
    if (typeof value === 'string' && PLAIN.test(value)) return value
    let known = this.#scalars.get(value)
    if (known === undefined) {
      known = stringify(value, SETTINGS).replace(/\n$/, '')
      this.#scalars.set(value, known)
    }
    return known
  }
}

/**
 * What YAML does not let stand unescaped, and the library does; what would reorder or hide the text around it; and what
 * the library indents wrongly: what begins like a mark between documents, and lines of which the first begins with space.
 */
const MISREAD =
  /^(?:---|\.\.\.)|^\n+[^\S\n]|^[^\S\n].*\n|[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/

/** JSON is YAML. */
function escaped(text: string): string {
  return printableJson(JSON.stringify(text))
}

/**
 * Names, keys and places: most of what there is to print, and all of them different. Too long for a word that means
 * something else in YAML.
 */
const PLAIN = /^[A-Za-z/][\w./:-]{5,200}(?<!:)$/
const SETTINGS = { compat: 'yaml-1.1', lineWidth: 0 } as const

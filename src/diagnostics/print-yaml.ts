import { stringify } from 'yaml'
import { Placeholder } from '../schema/placeholder.ts'
import { printableJson } from './render/json.ts'

export interface PrintOptions {
  /** Write `$` as `$$`, so that parsing with variable expansion yields the same value. */
  readonly escapeDollars?: boolean
}

/**
 * A value as YAML text that YAML 1.1 and 1.2 parsers read alike. Shared parts are written out, unset variables keep
 * their `$NAME`, undefined fields are omitted.
 */
export function printYaml(value: unknown, options: PrintOptions = {}): string {
  return `${new YamlPrinter(options.escapeDollars === true).print(value, '')}\n`
}

/**
 * The library decides how to write each scalar. The layout is done here, identical to the library's but in a tenth of
 * the time: dumps have a hundred thousand lines with few distinct words.
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
    // For keys longer than a line, the library uses another, equivalent form.
    return key.includes('\n') || key.length > 1000 ? JSON.stringify(key) : this.#scalar(key)
  }

  /** The form of multi-line text depends on its position. */
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
 * Text that the library leaves unescaped but YAML does not allow; text that reorders or hides its surroundings; and
 * text that the library indents wrongly: lookalikes of document markers, and multi-line text that starts with space.
 */
const MISREAD =
  /^(?:---|\.\.\.)|^\n+[^\S\n]|^[^\S\n].*\n|[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/

/** JSON is YAML. */
function escaped(text: string): string {
  return printableJson(JSON.stringify(text))
}

/** Names, keys and paths: most of the output, and all distinct. Too long for a word with a special meaning in YAML. */
const PLAIN = /^[A-Za-z/][\w./:-]{5,200}(?<!:)$/
const SETTINGS = { compat: 'yaml-1.1', lineWidth: 0 } as const

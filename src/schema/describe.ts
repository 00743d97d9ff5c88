import type { Node } from './builder.ts'
import { Placeholder } from './placeholder.ts'

/** Describes the value for "expected …, found …". Never includes the text of a long or multi-line scalar. */
export function describe(value: unknown): string {
  return typeof value === 'number' || typeof value === 'boolean'
    ? `the ${typeof value} ${String(value)}`
    : describeType(value)
}

/** The same without the value itself, which may be secret. */
export function describeType(value: unknown): string {
  if (value === null) return 'nothing'
  if (value instanceof Placeholder) return `the unset variable ${value.variable}`
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a map'
  return typeof value === 'string' ? 'text' : `a ${typeof value}`
}

/** What a node accepts, in words. */
export function typeNames(node: Node): string {
  switch (node.kind) {
    case 'string':
      return 'text'
    case 'enum':
      return `one of ${node.values.map(v => `\`${v}\``).join(', ')}`
    case 'integer':
      return 'a whole number'
    case 'number':
      return 'a number'
    case 'boolean':
      return '`true` or `false`'
    case 'null':
      return 'nothing'
    case 'json':
      return 'any value'
    case 'list':
      return 'a list'
    case 'map':
    case 'object':
      return 'a map'
    case 'cel':
      return 'a CEL expression (text)'
    case 'regex':
      return 'a regular expression (text)'
    case 'parsed':
      return node.form
    case 'lazy':
      return typeNames(node.get().node)
    case 'shapes': {
      const forms = [node.string, node.number, node.boolean, node.list, node.object, node.null]
      return [...new Set(forms.filter(f => f !== undefined).map(f => typeNames(f.node)))].join(' or ')
    }
  }
}

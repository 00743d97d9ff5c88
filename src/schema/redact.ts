import type { MapNode, Node, ObjectNode, Schema, ShapesNode, StringNode } from './builder.ts'
import { concealInUrl } from './conceal-in-url.ts'
import { Placeholder } from './placeholder.ts'

export const REDACTED = '<redacted>'

/**
 * The replacement of a secret: reveals nothing, or at most whether two are equal. `place`: the declaration in case the
 * value has another type or an undeclared key; unset for a declared secret.
 */
export type Conceal = (secret: unknown, place?: Node) => string

/**
 * A copy of a raw value with every declared secret replaced. Values under unknown keys or of an undeclared type are
 * replaced too: a misspelt `apiKey` contains a key as well. `written`: the same value with variable names in place of
 * their values, which is how program arguments are shown.
 */
export function redact(
  schema: Schema<unknown>,
  value: unknown,
  conceal: Conceal = () => REDACTED,
  written: unknown = value,
): unknown {
  return redactNode(schema.node, value, conceal, written)
}

function redactNode(node: Node, value: unknown, conceal: Conceal, written: unknown): unknown {
  if (value === null || value === undefined) return value
  switch (node.kind) {
    case 'lazy':
      return redactNode(node.get().node, value, conceal, written)
    case 'parsed':
      return redactNode(node.base.node, value, conceal, written)
    case 'shapes':
      return redactShape(node, value, conceal, written)
    case 'list':
      return Array.isArray(value)
        ? value.map((item, i) => redactNode(node.item.node, item, conceal, partOf(written, i)))
        : conceal(value, node)
    case 'map':
      return isMap(value) ? redactMap(node, value, conceal, written) : conceal(value, node)
    case 'object':
      return isMap(value) ? redactObject(node, value, conceal, written) : conceal(value, node)
    case 'string':
      return redactText(node, value, conceal, written)
    case 'json':
      return plain(value)
    default:
      return scalar(node, value, conceal)
  }
}

function redactText(node: StringNode, value: unknown, conceal: Conceal, written: unknown): unknown {
  if (node.secret === true) return conceal(plain(value))
  const shown = scalar(node, value, conceal)
  if (node.secret === false || typeof shown !== 'string' || isComposite(value)) return shown
  return concealInUrl(node.secret === 'inArgument' && typeof written === 'string' ? written : shown, conceal)
}

type Fields = Readonly<Record<string, unknown>>

function redactMap(node: MapNode, value: Fields, conceal: Conceal, written: unknown) {
  return mapValues(value, (item, key) =>
    node.secretKeys?.(key, item)
      ? conceal(plain(item))
      : redactNode(node.value.node, item, conceal, partOf(written, key)),
  )
}

function redactObject(node: ObjectNode, value: Fields, conceal: Conceal, written: unknown) {
  const { spelt } = node.index()
  const secretField = node.secretField?.where(value) ? node.secretField.name : undefined
  return mapValues(value, (item, key) => {
    if (key === secretField) return conceal(plain(item))
    const known = spelt.get(key)
    if (known !== undefined) return redactNode(known.field.schema.node, item, conceal, partOf(written, key))
    return node.open ? plain(item) : conceal(item, node)
  })
}

function redactShape(node: ShapesNode, value: unknown, conceal: Conceal, written: unknown): unknown {
  const form = shapeOf(node, value)
  // What one form does not declare, another one may.
  const inside: Conceal = (secret, place) => conceal(secret, place && node)
  return form === undefined ? conceal(value, node) : redactNode(form.node, value, inside, written)
}

export function shapeOf(node: ShapesNode, value: unknown): Schema<unknown> | undefined {
  if (value instanceof Placeholder) return node.string ?? node.number ?? node.boolean
  if (Array.isArray(value)) return node.list
  if (typeof value === 'object') return node.object
  if (typeof value === 'string') return node.string
  return typeof value === 'number' ? node.number : node.boolean
}

/** A scalar if declared as one; a list or map in its place is a mistake with unknown content. */
function scalar(node: Node, value: unknown, conceal: Conceal): unknown {
  if (value instanceof Placeholder) return value.text
  return isComposite(value) ? conceal(value, node) : value
}

function isComposite(value: unknown): boolean {
  return typeof value === 'object' && !(value instanceof Placeholder)
}

function partOf(written: unknown, key: string | number): unknown {
  return typeof written === 'object' && written !== null ? (written as Fields)[key] : undefined
}

function plain(value: unknown): unknown {
  if (value instanceof Placeholder) return value.text
  if (Array.isArray(value)) return value.map(plain)
  return isMap(value) ? mapValues(value, plain) : value
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Placeholder)
}

/** Document maps have no prototype: `__proto__` is a key like any other. */
function mapValues(
  value: Readonly<Record<string, unknown>>,
  change: (item: unknown, key: string) => unknown,
): Record<string, unknown> {
  const out: Record<string, unknown> = Object.create(null)
  for (const key of Object.keys(value)) out[key] = change(value[key], key)
  return out
}

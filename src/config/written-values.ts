import type { Path } from '../diagnostics/diagnostic.ts'
import type { Field, FieldMode, Node, Schema } from '../schema/builder.ts'

export interface WrittenValue {
  /** The schema node that reads the value, with shorthand forms resolved. */
  readonly node: Node
  readonly value: unknown
  /** Set for a declared field of an object. */
  readonly field: Field<unknown, FieldMode> | undefined
  /** Valid during the visit only. */
  readonly path: Path
}

/** Visits every value of a document that its schema declares, outermost first, in file order. */
export function visitWritten(schema: Schema<unknown>, value: unknown, visit: (found: WrittenValue) => void): void {
  walk(schema.node, value, undefined, [], visit)
}

/** `path` is a single mutable array: few visits need a copy. */
function walk(
  declared: Node,
  value: unknown,
  field: WrittenValue['field'],
  path: (string | number)[],
  visit: (found: WrittenValue) => void,
): void {
  const node = formFor(declared, value)
  // A key without a value counts as absent.
  if (node === undefined || value === null) return
  visit({ node, value, field, path })
  if (typeof value !== 'object') return
  if (node.kind === 'list' && Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      path.push(i)
      walk(node.item.node, value[i], undefined, path, visit)
      path.pop()
    }
  } else if (!Array.isArray(value) && (node.kind === 'map' || node.kind === 'object')) {
    for (const key in value) {
      const known = node.kind === 'object' ? node.index().spelt.get(key)?.field : undefined
      const inner = node.kind === 'map' ? node.value : known?.schema
      if (inner === undefined) continue
      path.push(key)
      walk(inner.node, (value as Record<string, unknown>)[key], known, path, visit)
      path.pop()
    }
  }
}

function formFor(node: Node, value: unknown): Node | undefined {
  if (node.kind === 'lazy') return formFor(node.get().node, value)
  if (node.kind === 'parsed') return formFor(node.base.node, value)
  if (node.kind !== 'shapes') return node
  if (Array.isArray(value)) return node.list && formFor(node.list.node, value)
  const form =
    typeof value === 'string'
      ? node.string
      : typeof value === 'number'
        ? node.number
        : typeof value === 'boolean'
          ? node.boolean
          : value === null
            ? node.null
            : node.object
  return form && formFor(form.node, value)
}

import { type Field, type FieldMode, fieldIndex, type Node, type Schema } from '../../src/schema/builder.ts'

/** The same declaration without the rules that are functions: what is left is what a JSON Schema can say. */
export function withoutChecks(schema: Schema<unknown>): Schema<unknown> {
  const copies = new Map<Node, Node>()
  const copy = <S extends Schema<unknown> | undefined>(inner: S): S => (inner && { node: stripped(inner.node) }) as S
  const stripped = (node: Node): Node => {
    const known = copies.get(node)
    if (known) return known
    const made = strip(node)
    copies.set(node, made)
    return made
  }
  const strip = (node: Node): Node => {
    switch (node.kind) {
      case 'list':
        return { ...node, item: copy(node.item) }
      case 'map':
        return { ...node, value: copy(node.value) }
      case 'parsed':
        return { ...node, base: copy(node.base) }
      case 'lazy':
        return { ...node, get: () => copy(node.get()) }
      case 'shapes': {
        const { kind, ...forms } = node
        return { kind, ...Object.fromEntries(Object.entries(forms).map(([name, form]) => [name, copy(form)])) }
      }
      case 'object': {
        const { check: _, ...rest } = node
        const entries = Object.entries(node.fields).map(([name, field]): [string, Field<unknown, FieldMode>] => [
          name,
          { ...field, schema: copy(field.schema) },
        ])
        const fields = Object.fromEntries(entries)
        return { ...rest, fields, index: fieldIndex(fields) }
      }
      default:
        return node
    }
  }
  return copy(schema)
}

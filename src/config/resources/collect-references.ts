import type { Path } from '../../diagnostics/diagnostic.ts'
import type { Node, ObjectNode, Reference, ShapesNode } from '../../schema/builder.ts'
import { asFields, type Fields, type Written } from './resource.ts'

/** A reference as it is written, in a resource that may have other mistakes. */
export interface FoundReference {
  readonly from: Written
  readonly refers: Reference
  readonly value: Fields
  /** From the document's root. */
  readonly path: Path
}

/** Follows declaration and text side by side: what is declared to refer is found wherever it stands. */
export function collectReferences(from: Written): FoundReference[] {
  const found: FoundReference[] = []
  walk(from.kind.schema.node, from.raw, from.path, (refers, value, path) => found.push({ from, refers, value, path }))
  return found
}

type Visit = (refers: Reference, value: Fields, path: Path) => void

function walk(node: Node, value: unknown, path: Path, visit: Visit): void {
  if (typeof value !== 'object' || value === null) return
  switch (node.kind) {
    case 'lazy':
      walk(node.get().node, value, path, visit)
      break
    case 'parsed':
      walk(node.base.node, value, path, visit)
      break
    case 'shapes':
      walkShape(node, value, path, visit)
      break
    case 'list':
      if (Array.isArray(value))
        for (const [index, item] of value.entries()) walk(node.item.node, item, [...path, index], visit)
      break
    case 'map':
      for (const [key, item] of entries(value)) walk(node.value.node, item, [...path, key], visit)
      break
    case 'object':
      walkObject(node, value, path, visit)
  }
}

function walkObject(node: ObjectNode, value: object, path: Path, visit: Visit): void {
  if (Array.isArray(value)) return
  if (node.refers) visit(node.refers, value as Fields, path)
  for (const [key, item] of entries(value)) {
    const field = node.index().spelt.get(key)?.field
    if (field) walk(field.schema.node, item, [...path, key], visit)
  }
}

function walkShape(node: ShapesNode, value: object, path: Path, visit: Visit): void {
  const form = Array.isArray(value) ? node.list : node.object
  if (form) walk(form.node, value, path, visit)
}

function entries(value: object): readonly (readonly [string, unknown])[] {
  return Object.entries(asFields(value) ?? {})
}

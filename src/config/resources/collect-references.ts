import type { Path } from '../../diagnostics/diagnostic.ts'
import type { Node, ObjectNode, Reference, ShapesNode } from '../../schema/builder.ts'
import type { Fields, Written } from './resource.ts'

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
  walk(from.kind.schema.node, from.raw, [...from.path], (refers, value, path) =>
    found.push({ from, refers, value, path: [...path] }),
  )
  return found
}

type Visit = (refers: Reference, value: Fields, path: Path) => void

/** `path` is one array that follows the walk. */
function walk(node: Node, value: unknown, path: (string | number)[], visit: Visit): void {
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
      if (Array.isArray(value)) for (let i = 0; i < value.length; i++) step(node.item.node, value[i], i, path, visit)
      break
    case 'map':
      if (Array.isArray(value)) return
      for (const key in value) step(node.value.node, (value as Fields)[key], key, path, visit)
      break
    case 'object':
      walkObject(node, value, path, visit)
  }
}

function step(node: Node, value: unknown, at: string | number, path: (string | number)[], visit: Visit): void {
  path.push(at)
  walk(node, value, path, visit)
  path.pop()
}

function walkObject(node: ObjectNode, value: object, path: (string | number)[], visit: Visit): void {
  if (Array.isArray(value)) return
  if (node.refers) visit(node.refers, value as Fields, path)
  const { spelt } = node.index()
  for (const key in value) {
    const field = spelt.get(key)?.field
    if (field) step(field.schema.node, (value as Fields)[key], key, path, visit)
  }
}

function walkShape(node: ShapesNode, value: object, path: (string | number)[], visit: Visit): void {
  const form = Array.isArray(value) ? node.list : node.object
  if (form) walk(form.node, value, path, visit)
}

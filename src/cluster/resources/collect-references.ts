import type { Path } from '../../diagnostics/diagnostic.ts'
import type { Node, ObjectNode, Reference, ShapesNode } from '../../schema/builder.ts'
import type { Fields } from '../../schema/untyped.ts'
import type { Written } from './resource.ts'

/** A reference as written, in a resource that may have other mistakes. */
export interface FoundReference {
  readonly from: Written
  readonly refers: Reference
  readonly value: Fields
  /** From the document's root. */
  readonly path: Path
}

/** Whether a declaration may contain references, as far as known. */
export type Known = Map<Node, boolean>

/**
 * Walks declaration and document together, and finds references wherever they are declared. `known` is shared between
 * resources.
 */
export function collectReferences(from: Written, known?: Known): FoundReference[] {
  const found: FoundReference[] = []
  const visit: Visit = (refers, value, path) => found.push({ from, refers, value, path: [...path] })
  walk(from.kind.schema.node, from.raw, [...from.path], { visit, known })
  return found
}

type Visit = (refers: Reference, value: Fields, path: Path) => void

interface Walk {
  readonly visit: Visit
  readonly known: Known | undefined
}

/** Recursive declarations are not followed. */
function mayRefer(node: Node | undefined, known: Known): boolean {
  if (node === undefined) return false
  const before = known.get(node)
  if (before !== undefined) return before
  const may = looksInside(node, known)
  known.set(node, may)
  return may
}

function looksInside(node: Node, known: Known): boolean {
  switch (node.kind) {
    case 'lazy':
      return true
    case 'parsed':
      return mayRefer(node.base.node, known)
    case 'shapes':
      return mayRefer(node.list?.node, known) || mayRefer(node.object?.node, known)
    case 'list':
      return mayRefer(node.item.node, known)
    case 'map':
      return mayRefer(node.value.node, known)
    case 'object':
      return node.refers !== undefined || node.index().list.some(({ field }) => mayRefer(field.schema.node, known))
    default:
      return false
  }
}

/** `path` is a single mutable array. */
function walk(node: Node, value: unknown, path: (string | number)[], w: Walk): void {
  if (typeof value !== 'object' || value === null || (w.known && !mayRefer(node, w.known))) return
  switch (node.kind) {
    case 'lazy':
      walk(node.get().node, value, path, w)
      break
    case 'parsed':
      walk(node.base.node, value, path, w)
      break
    case 'shapes':
      walkShape(node, value, path, w)
      break
    case 'list':
      if (Array.isArray(value)) for (let i = 0; i < value.length; i++) step(node.item.node, value[i], i, path, w)
      break
    case 'map':
      if (Array.isArray(value)) return
      for (const key in value) step(node.value.node, (value as Fields)[key], key, path, w)
      break
    case 'object':
      walkObject(node, value, path, w)
  }
}

function step(node: Node, value: unknown, at: string | number, path: (string | number)[], w: Walk): void {
  path.push(at)
  walk(node, value, path, w)
  path.pop()
}

function walkObject(node: ObjectNode, value: object, path: (string | number)[], w: Walk): void {
  if (Array.isArray(value)) return
  if (node.refers) w.visit(node.refers, value as Fields, path)
  const { spelt } = node.index()
  for (const key in value) {
    const field = spelt.get(key)?.field
    if (field) step(field.schema.node, (value as Fields)[key], key, path, w)
  }
}

function walkShape(node: ShapesNode, value: object, path: (string | number)[], w: Walk): void {
  const form = Array.isArray(value) ? node.list : node.object
  if (form) walk(form.node, value, path, w)
}

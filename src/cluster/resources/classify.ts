import { standalone } from '../../config/standalone/standalone.ts'
import type { SourceDocument } from '../../diagnostics/source.ts'

/** Classifies a document by its top level alone. Imports no kinds, so standalone files do not pay for them. */
export type DocumentClass = 'resource' | 'standalone' | 'foreign' | 'nothing'

const STANDALONE: ReadonlySet<string> = new Set(Object.keys(standalone.node.fields))

export function classify(document: SourceDocument): DocumentClass {
  const { value } = document
  if (document.empty || document.broken || value === null || value === undefined) return 'nothing'
  if (typeof value !== 'object' || Array.isArray(value)) return 'foreign'
  if ('kind' in value || 'apiVersion' in value) return 'resource'
  const keys = Object.keys(value)
  return keys.length === 0 || keys.some(key => STANDALONE.has(key)) ? 'standalone' : 'foreign'
}

/** The first keys of a document, to describe it. */
export function keysOf(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'no map'
  const keys = Object.keys(value)
  return `keys: ${keys.slice(0, 4).join(', ')}${keys.length > 4 ? ', …' : ''}`
}

import { type Alias, isScalar, type Node } from 'yaml'
import { scalarSpan, type TextFinding } from './source-findings.ts'
import { templateFinding } from './source-template.ts'
import { extent } from './source-tree.ts'

export interface ReadOptions {
  readonly env: Readonly<Record<string, string | undefined>> | undefined
  readonly unset: 'placeholder' | 'error'
}

export interface Anchor {
  readonly node: Node
  value: unknown
  /** Number of values in it with all aliases expanded; undefined while it is being read, to detect cycles. */
  size: number | undefined
  height: number
}

/** The state of reading one document. */
export interface Reading extends ReadOptions {
  readonly text: string
  readonly findings: TextFinding[]
  readonly targets: Map<Alias, Node>
  readonly anchors: Map<string, Anchor>
  readonly path: (string | number)[]
  broken: boolean
  template: boolean
  size: number
  written: number
  depth: number
  deepest: number
}

export type Words = Omit<TextFinding, 'start' | 'end' | 'path'> & {
  /** Part of the scalar's decoded text. */
  readonly span?: readonly [start: number, end: number]
}

export function report(node: Node, r: Reading, { span, ...words }: Words): void {
  const [start, end] =
    (span && isScalar(node) && scalarSpan(node.range![0], node.range![1], node.source ?? '', span, r.text)) ||
    firstLine(node, r)
  r.findings.push({ ...words, start, end, path: [...r.path] })
}

export function firstLine(node: Node, r: Reading): readonly [number, number] {
  const [start, end] = extent(node, r.text)
  const newline = r.text.indexOf('\n', start)
  return newline < 0 || newline >= end ? [start, end] : [start, start + r.text.slice(start, newline).trimEnd().length]
}

/** Reported once; the document then has no value. */
export function reportTemplate(at: number, r: Reading): void {
  r.broken = true
  if (r.template) return
  r.template = true
  r.findings.push({ ...templateFinding(r.text, at), path: [...r.path] })
}

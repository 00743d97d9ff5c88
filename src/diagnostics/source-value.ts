import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap, type YAMLSeq } from 'yaml'
import { Placeholder } from '../schema/placeholder.ts'
import type { TextFinding } from './source-findings.ts'
import { oddIndentation } from './source-problems.ts'
import { type Anchor, firstLine, type Reading, type ReadOptions, report, reportTemplate } from './source-reading.ts'
import { checkReading, readScalar, refuseTag } from './source-scalar-value.ts'
import { looksLikeTemplate } from './source-template.ts'
import { extent, isMergeKey, keyText } from './source-tree.ts'
import { didYouMean } from './suggest.ts'

/** Maximum nesting of lists and maps, with aliases expanded. Far above any configuration, far below the stack limit. */
export const MAX_DEPTH = 500
/** Maximum values that aliases may add to those written. */
const MAX_ALIAS_VALUES = 100_000

export interface ReadDocument {
  readonly value: unknown
  /** The document has no value; one of the findings gives the reason. */
  readonly broken: boolean
  readonly findings: readonly TextFinding[]
  readonly targets: ReadonlyMap<Alias, Node>
}

/**
 * Converts one document's tree to plain values, in one pass: maps are objects without a prototype, aliases share the
 * anchor's value, merge keys are resolved, variables expanded.
 */
export function readDocument(root: Node, text: string, options: ReadOptions): ReadDocument {
  const r: Reading = {
    ...options,
    text,
    findings: [],
    targets: new Map(),
    anchors: new Map(),
    path: [],
    broken: false,
    template: false,
    size: 0,
    written: 0,
    depth: 0,
    deepest: 0,
  }
  const value = read(root, r)
  return { value: r.broken ? undefined : value, broken: r.broken, findings: r.findings, targets: r.targets }
}

function read(node: Node, r: Reading): unknown {
  if (isAlias(node)) return readAlias(node, r)
  r.size++
  r.written++
  const name = (node as { anchor?: string }).anchor
  if (name === undefined) return readBare(node, r)
  const anchor: Anchor = { node, value: undefined, size: undefined, height: 0 }
  r.anchors.set(name, anchor)
  const before = r.size - 1
  const deepest = r.deepest
  r.deepest = r.depth
  anchor.value = readBare(node, r)
  anchor.size = r.size - before
  anchor.height = r.deepest - r.depth
  r.deepest = Math.max(deepest, r.deepest)
  return anchor.value
}

function readBare(node: Node, r: Reading): unknown {
  if (isScalar(node)) return readScalar(node, r)
  r.depth++
  if (r.depth > r.deepest) r.deepest = r.depth
  const value = isMap(node) ? readMap(node, r) : isSeq(node) ? readList(node, r) : null
  r.depth--
  return value
}

function readList(node: YAMLSeq, r: Reading): unknown[] {
  refuseTag(node, 'tag:yaml.org,2002:seq', r)
  const items = node.items as (Node | null)[]
  const list: unknown[] = new Array(items.length)
  for (let i = 0; i < items.length; i++) {
    r.path.push(i)
    const item = items[i]
    list[i] = item ? read(item, r) : null
    r.path.pop()
  }
  return list
}

function readMap(node: YAMLMap, r: Reading): Record<string, unknown> {
  refuseTag(node, 'tag:yaml.org,2002:map', r)
  const map: Record<string, unknown> = Object.create(null)
  const merged: unknown[] = []
  let merge: Node | undefined
  let first: Map<string, Node> | undefined
  /** A second resource starts in the same document. */
  let again = false
  for (const pair of node.items) {
    const key = pair.key as Node
    if (isMergeKey(key)) {
      if (merge) reportSecondMerge(merge, key, r)
      merge ??= key
      merged.push(...readMerge(pair, r))
      continue
    }
    const name = readKey(key, node, r)
    if (name === undefined) continue
    r.path.push(name)
    const duplicate = name in map
    if (duplicate) {
      first ??= firstKeys(node, r)
      if (again || (r.path.length === 1 && name === 'apiVersion')) {
        if (!again) reportSecondResource(key, r)
        again = true
      } else reportDuplicate(first.get(name)!, name, key, r)
    }
    if (pair.value === null && node.flow) reportMissingSpace(key, r)
    const value = pair.value ? read(pair.value as Node, r) : null
    if (!duplicate) map[name] = value
    r.path.pop()
  }
  for (const source of merged)
    for (const key in source as object) if (!(key in map)) map[key] = (source as Record<string, unknown>)[key]
  return map
}

function readKey(key: Node, map: YAMLMap, r: Reading): string | undefined {
  if (isAlias(key)) readAlias(key, r)
  const name = keyText(key, r.targets)
  const { anchor } = key as { anchor?: string }
  if (anchor !== undefined) r.anchors.set(anchor, { node: key, value: name, size: 1, height: 0 })
  if (name === undefined) {
    if (isAlias(key) && !r.targets.has(key)) return undefined
    const braces = [map, key].find(node => r.text.startsWith('{{', node.range![0]))
    if (braces) reportTemplate(braces.range![0], r)
    else report(key, r, { code: 'GW001', message: 'a key must be text, and this one is a list or a map' })
    r.broken = true
    return undefined
  }
  if (!isScalar(key)) return name
  refuseTag(key, 'tag:yaml.org,2002:str', r)
  if (key.type === 'PLAIN') {
    if (looksLikeTemplate(name)) reportTemplate(key.range![0], r)
    else if (map.flow && /^\/[/*]/.test(name)) reportComment(key, r)
    const odd = name.charCodeAt(0) > 0x7f ? oddIndentation(key.range![0], name) : undefined
    if (odd) {
      r.findings.push({ code: 'GW001', ...odd, path: [...r.path] })
      r.broken = true
    }
    r.path.push(name)
    checkReading(key, name, r)
    r.path.pop()
  }
  return name
}

/** Merges what `<<` refers to; the map's own keys take precedence, then earlier sources. */
function readMerge(pair: Pair, r: Reading): unknown[] {
  r.path.push('<<')
  const value = pair.value as Node | null
  const merged = value ? read(value, r) : null
  const sources = Array.isArray(merged) ? merged : [merged]
  if (!r.broken && !sources.every(isMapValue)) {
    report(value ?? (pair.key as Node), r, {
      code: 'GW001',
      message: '`<<` merges maps, and this is not a map or a list of maps',
    })
    r.broken = true
  }
  r.path.pop()
  return r.broken ? [] : sources
}

function isMapValue(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Placeholder)
}

function readAlias(node: Alias, r: Reading): unknown {
  r.size++
  r.written++
  const anchor = r.anchors.get(node.source)
  if (!anchor) {
    const names = [...r.anchors.keys()]
    const help = didYouMean(node.source, names) ?? (names.length === 0 ? 'the document has no anchors' : listed(names))
    report(node, r, { code: 'GW001', message: `there is no anchor \`${node.source}\` above this alias`, help })
    r.broken = true
    return undefined
  }
  if (anchor.size === undefined) return refuseAlias(node, `anchor \`${node.source}\` contains itself`, anchor.node, r)
  r.targets.set(node, anchor.node)
  r.size += anchor.size
  r.deepest = Math.max(r.deepest, r.depth + anchor.height)
  if (r.size - r.written > MAX_ALIAS_VALUES || r.depth + anchor.height > MAX_DEPTH) {
    return refuseAlias(node, 'the aliases of this document expand without bound', anchor.node, r)
  }
  return anchor.value
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, 5).map(name => `\`${name}\``)
  return `anchors above: ${shown.join(', ')}${names.length > shown.length ? ', …' : ''}`
}

/** Reported once: later aliases of the document would fail for the same reason. */
function refuseAlias(node: Alias, message: string, target: Node, r: Reading): undefined {
  r.broken = true
  if (r.findings.some(finding => finding.code === 'GW003')) return
  const [start, end] = firstLine(target, r)
  report(node, r, {
    code: 'GW003',
    message,
    help: 'write the values out instead of nesting aliases in anchors',
    related: [{ message: `anchor \`${node.source}\``, start, end }],
  })
}

function firstKeys(map: YAMLMap, r: Reading): Map<string, Node> {
  const first = new Map<string, Node>()
  for (const pair of map.items) {
    const name = keyText(pair.key as Node, r.targets)
    if (name !== undefined && !isMergeKey(pair.key) && !first.has(name)) first.set(name, pair.key as Node)
  }
  return first
}

function reportDuplicate(first: Node, name: string, key: Node, r: Reading): void {
  const [start, end] = extent(first, r.text)
  report(key, r, {
    code: 'GW002',
    message: `key \`${name}\` is set twice in this map`,
    label: 'set again here',
    related: [{ message: 'first set here', start, end }],
  })
}

function reportSecondResource(key: Node, r: Reading): void {
  report(key, r, {
    code: 'GW002',
    message: 'a second resource begins here, in the same document',
    label: 'the line `---` is missing above',
    help: 'put a line with `---` between two resources',
  })
}

function reportSecondMerge(first: Node, second: Node, r: Reading): void {
  const [start, end] = extent(first, r.text)
  report(second, r, {
    code: 'GW002',
    message: 'the merge key `<<` is set twice in this map',
    help: 'merge several maps with one key: `<<: [*first, *second]`',
    related: [{ message: 'first set here', start, end }],
  })
}

/** `{b:1}` is the key `b:1` without a value: valid, but never intended. */
function reportMissingSpace(key: Node, r: Reading): void {
  const text = isScalar(key) && key.type === 'PLAIN' ? (key.source ?? '') : ''
  if (!/^[\w.-]+:[^/]/.test(text)) return
  report(key, r, {
    code: 'GW001',
    message: `a space is missing after the colon in \`${text}\``,
    fix: { title: 'insert a space', safe: true, text: text.replace(':', ': ') },
  })
  r.broken = true
}

/** YAML parses `// words` in braces as a key. */
function reportComment(key: Node, r: Reading): void {
  const message = 'JSON has no comments'
  if (r.findings.some(finding => finding.message === message)) return
  report(key, r, { code: 'GW001', message, help: 'remove it, or name the file `.jsonc`' })
  r.broken = true
}

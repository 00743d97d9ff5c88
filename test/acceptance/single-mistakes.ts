import { type Document, isMap, isScalar, isSeq, type Node, type Pair, parseDocument, type YAMLMap } from 'yaml'
import { standalone } from '../../src/config/standalone/standalone.ts'
import type { Node as Declared, ObjectNode } from '../../src/schema/builder.ts'

export const KINDS = [
  'misspelt key',
  'wrong type',
  'required field removed',
  'two variants',
  'misspelt value',
  'misspelt reference',
  'misspelt expression',
  'bad number or duration',
] as const
export type Kind = (typeof KINDS)[number]

/** A file with one mistake in it. */
export interface Mistake {
  readonly kind: Kind
  readonly what: string
  readonly text: string
  /** 1-based lines on which a finding is right. */
  readonly lines: readonly [first: number, last: number]
}

/** One edit of a text; `parent`: the place is where the holder of a removed field begins. */
interface Edit {
  readonly kind: Kind
  readonly what: string
  readonly start: number
  readonly end: number
  readonly by: string
  readonly parent?: { readonly start: number; readonly end: number }
}

export type Random = () => number
/** Numbers of [0, 1) that are the same in every run (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const pick = <T>(items: readonly T[], random: Random): T => items[Math.floor(random() * items.length)]!

/** A value of a text and what it is declared as. */
export interface Root {
  readonly declared: Declared
  readonly node: Node
  readonly document: Document
  readonly name: string
}
/** The one value of a standalone configuration. */
function standaloneRoots(text: string): readonly Root[] {
  const document = parseDocument(text, { merge: true })
  const { contents: node } = document
  return node ? [{ declared: standalone.node, node: node as Node, document, name: 'configuration' }] : []
}

/** Every single mistake that this module knows how to make in `text`, one variant of each. */
export function mistakesIn(
  file: string,
  text: string,
  samples: Samples,
  random: Random,
  roots: (text: string) => readonly Root[] = standaloneRoots,
): Mistake[] {
  const edits: Edit[] = []
  for (const { declared, node, name } of roots(text)) {
    walk(declared, node, { text, edits, samples, random }, undefined, name)
  }
  return edits.map(edit => {
    const mutated = text.slice(0, edit.start) + edit.by + text.slice(edit.end)
    const [start, end] = edit.parent ? [edit.parent.start, edit.parent.end] : [edit.start, edit.start + edit.by.length]
    return {
      kind: edit.kind,
      what: `${file}: ${edit.what}`,
      text: mutated,
      lines: [lineOf(mutated, start), lineOf(mutated, end)] as const,
    }
  })
}

const lineOf = (text: string, offset: number) => text.slice(0, offset).split('\n').length

/** Valid values of fields, from all files: `backend.host` → `127.0.0.1:80`. */
export type Samples = Map<string, unknown>
export function sampleValues(
  texts: readonly string[],
  roots: (text: string) => readonly Root[] = standaloneRoots,
): Samples {
  const samples: Samples = new Map()
  for (const { declared, node, document } of texts.flatMap(text => roots(text))) {
    visit(declared, node, (object, pair) => {
      const value = (pair.value as Node | null)?.toJS(document)
      const key = `${object.name}.${keyOf(pair)}`
      if (value !== null && value !== undefined && !samples.has(key)) samples.set(key, value)
    })
  }
  return samples
}

interface Walk {
  readonly text: string
  readonly edits: Edit[]
  readonly samples: Samples
  readonly random: Random
}

function walk(declared: Declared, node: Node, w: Walk, pair: Pair | undefined, name: string): void {
  const shape = resolve(declared, node)
  if (shape === undefined) return
  if (pair && node.range) wrongType(declared, shape, node, pair, w, name)
  if (shape.kind === 'object' && isMap(node)) walkObject(shape, node, w, name)
  else if (shape.kind === 'list' && isSeq(node)) {
    for (const [i, item] of node.items.entries()) walk(shape.item.node, item as Node, w, undefined, `${name}[${i}]`)
  } else if (shape.kind === 'map' && isMap(node)) {
    for (const each of node.items)
      if (each.value) walk(shape.value.node, each.value as Node, w, each, `${name}.${keyOf(each)}`)
  } else if (isScalar(node)) scalarMistakes(declared, shape, node as Node & { source: string }, w, name)
}

function walkObject(shape: ObjectNode, node: YAMLMap, w: Walk, name: string): void {
  for (const pair of node.items) {
    const key = keyOf(pair)
    const field = Object.hasOwn(shape.fields, key) ? shape.fields[key]! : undefined
    if (field === undefined) continue
    const at = `${name}.${key}`
    const [start, end] = (pair.key as Node).range!
    const wrong = misspell(key, w.random)
    if (!shape.open && !Object.hasOwn(shape.fields, wrong))
      w.edits.push({ kind: 'misspelt key', what: `${at} → ${wrong}`, start, end, by: wrong })
    if (removable(shape, node, key, field.mode)) removal(node, pair, w, at)
    if (shape.refers && key === 'name' && isScalar(pair.value)) {
      const [from, to] = pair.value.range!
      const by = misspell(String(pair.value.value), w.random)
      w.edits.push({ kind: 'misspelt reference', what: `${at} → ${by}`, start: from, end: to, by })
    }
    if (pair.value) walk(field.schema.node, pair.value as Node, w, pair, at)
  }
  for (const group of shape.exactlyOneOf) secondVariant(shape, node, group, w, name)
}

/** Required by itself, or the one member set of a group that needs one. */
function removable(shape: ObjectNode, node: YAMLMap, key: string, mode: string): boolean {
  if (node.items.length < 2) return false
  if (mode === 'required') return true
  return [...shape.exactlyOneOf, ...shape.atLeastOneOf].some(
    group => group.includes(key) && group.filter(each => node.items.some(p => keyOf(p) === each)).length === 1,
  )
}

function removal(node: YAMLMap, pair: Pair, w: Walk, what: string): void {
  if (node.flow) return
  const index = node.items.indexOf(pair as never)
  const next = node.items[index + 1]
  const [keyStart] = (pair.key as Node).range!
  const start = next ? keyStart : w.text.lastIndexOf('\n', keyStart)
  const end = next ? (next.key as Node).range![0] : endOf(pair, w.text)
  // The holder begins at its own first line, or at the key in the line above.
  const first = (node.items[0]!.key as Node).range![0]
  const above = w.text.lastIndexOf('\n', first - 1)
  w.edits.push({
    kind: 'required field removed',
    what: `${what} removed`,
    start,
    end,
    by: '',
    parent: { start: Math.max(0, above - 1), end: first },
  })
}

function secondVariant(shape: ObjectNode, node: YAMLMap, group: readonly string[], w: Walk, name: string): void {
  const set = node.items.find(p => group.includes(keyOf(p)))
  const others = group.filter(each => !node.has(each) && w.samples.has(`${shape.name}.${each}`))
  if (!set || others.length === 0 || node.flow) return
  const added = pick(others, w.random)
  const value = JSON.stringify(w.samples.get(`${shape.name}.${added}`))
  const keyStart = (set.key as Node).range![0]
  const indent = ' '.repeat(keyStart - w.text.lastIndexOf('\n', keyStart - 1) - 1)
  const at = endOf(set, w.text)
  w.edits.push({
    kind: 'two variants',
    what: `${name}.${added} beside ${keyOf(set)}`,
    start: at,
    end: at,
    by: `\n${indent}${added}: ${value}`,
    parent: { start: at + 1, end: at + 1 },
  })
}

function wrongType(declared: Declared, shape: Declared, node: Node, pair: Pair, w: Walk, name: string): void {
  const takes = formsOf(declared)
  const candidates = (
    [
      ['string', 'text'],
      ['number', '7'],
      ['boolean', 'true'],
      ['list', '[text]'],
      ['map', '{text: 1}'],
    ] as const
  ).filter(([form]) => !takes.has(form))
  if (candidates.length === 0 || shape.kind === 'json') return
  const keyEnd = (pair.key as Node).range![1]
  const colon = w.text.indexOf(':', keyEnd)
  const [, by] = pick(candidates, w.random)
  const end = Math.max(endOf(pair, w.text), colon + 1)
  const start = colon + 1
  if (node.range![0] < start) return
  w.edits.push({ kind: 'wrong type', what: `${name} = ${by}`, start, end, by: ` ${by}` })
}

function scalarMistakes(
  declared: Declared,
  shape: Declared,
  node: Node & { source: string },
  w: Walk,
  name: string,
): void {
  const [start, end] = node.range!
  const text = w.text.slice(start, end)
  const push = (kind: Kind, by: string) => {
    if (by !== text) w.edits.push({ kind, what: `${name}: ${text} → ${by}`, start, end, by })
  }
  if (text.includes('\n') || text.startsWith('$')) return
  if (shape.kind === 'enum') {
    const wrong = misspell(node.source, w.random)
    if (!shape.values.includes(wrong) && !Object.hasOwn(shape.aliases, wrong)) push('misspelt value', wrong)
  } else if (shape.kind === 'integer') {
    push(
      'bad number or duration',
      pick(
        [...(shape.min > -7 ? ['-7'] : []), ...(shape.max < 12345678901 ? ['12345678901'] : []), '8o80', '1.5'],
        w.random,
      ),
    )
  } else if (declared.kind === 'parsed' && /duration/.test(declared.form)) {
    push('bad number or duration', pick([`${text}x`, '30', 'ten', `-${text}`, `${text} 5`], w.random))
  } else if (shape.kind === 'cel') {
    const wrong = misspellName(text, w.random)
    if (wrong !== undefined) push('misspelt expression', wrong)
  } else if (/\.backend$/.test(name) && text.startsWith('/')) {
    push('misspelt reference', `/${misspell(text.slice(1), w.random)}`)
  } else if (/\.(reference|targets\[\d+\]\.model|gateways(\[\d+\])?)$/.test(name)) {
    push('misspelt reference', misspell(text, w.random))
  }
}

const ROOTS = /\b(request|response|source|jwt|apiKey|mcp|llmRequest|basicAuth)\b(?=\.)/g
const FUNCTIONS = /(?<=\.)(startsWith|endsWith|contains|matches|exists|size)(?=\()|\b(default|has|string|min)(?=\()/g
function misspellName(text: string, random: Random): string | undefined {
  const found = [...text.matchAll(ROOTS), ...text.matchAll(FUNCTIONS)]
  if (found.length === 0) return undefined
  const one = pick(found, random)
  return text.slice(0, one.index) + misspell(one[0], random) + text.slice(one.index + one[0].length)
}

/** One edit as fingers make it: a swap, a letter less, one doubled, one changed. */
export function misspell(word: string, random: Random): string {
  const letters = [...word.matchAll(/[A-Za-z]/g)].map(m => m.index)
  if (letters.length === 0) return `${word}x`
  const at = pick(letters, random)
  const next = word[at + 1]
  const variants = [
    word.slice(0, at) + word[at] + word.slice(at),
    `${word.slice(0, at)}${word[at] === 'q' ? 'w' : 'q'}${word.slice(at + 1)}`,
    ...(letters.length > 2 ? [word.slice(0, at) + word.slice(at + 1)] : []),
    ...(next !== undefined && /[A-Za-z]/.test(next) && next !== word[at]
      ? [word.slice(0, at) + next + word[at] + word.slice(at + 2)]
      : []),
  ]
  return pick(variants, random)
}

function visit(declared: Declared, node: Node, seen: (object: ObjectNode, pair: Pair) => void): void {
  const shape = resolve(declared, node)
  if (shape?.kind === 'object' && isMap(node)) {
    for (const pair of node.items) {
      const field = Object.hasOwn(shape.fields, keyOf(pair)) ? shape.fields[keyOf(pair)]! : undefined
      if (field === undefined || !pair.value) continue
      seen(shape, pair)
      visit(field.schema.node, pair.value as Node, seen)
    }
  } else if (shape?.kind === 'list' && isSeq(node)) {
    for (const item of node.items) visit(shape.item.node, item as Node, seen)
  } else if (shape?.kind === 'map' && isMap(node)) {
    for (const pair of node.items) if (pair.value) visit(shape.value.node, pair.value as Node, seen)
  }
}

/** The declaration that a value of this form is read by. */
function resolve(declared: Declared, node: Node): Declared | undefined {
  if (declared.kind === 'lazy') return resolve(declared.get().node, node)
  if (declared.kind === 'parsed') return resolve(declared.base.node, node)
  if (declared.kind !== 'shapes') return declared
  const plain = isScalar(node) ? (node.value as unknown) : undefined
  const form = isMap(node)
    ? declared.object
    : isSeq(node)
      ? declared.list
      : typeof plain === 'number'
        ? declared.number
        : typeof plain === 'boolean'
          ? declared.boolean
          : declared.string
  return form && resolve(form.node, node)
}

function formsOf(declared: Declared): Set<string> {
  switch (declared.kind) {
    case 'lazy':
      return formsOf(declared.get().node)
    case 'parsed':
      return formsOf(declared.base.node)
    case 'object':
    case 'map':
      return new Set(['map'])
    case 'list':
      return new Set(['list'])
    case 'boolean':
      return new Set(['boolean'])
    case 'integer':
    case 'number':
      return new Set(['number'])
    case 'json':
      return new Set(['string', 'number', 'boolean', 'list', 'map'])
    case 'shapes':
      return new Set([
        ...(declared.string ? ['string'] : []),
        ...(declared.number ? ['number'] : []),
        ...(declared.boolean ? ['boolean'] : []),
        ...(declared.list ? ['list'] : []),
        ...(declared.object ? ['map'] : []),
      ])
    default:
      return new Set(['string'])
  }
}

function keyOf(pair: Pair): string {
  return isScalar(pair.key) ? String(pair.key.value) : ''
}

/** Where a field's text ends, without the white space and comments behind it. */
function endOf(pair: Pair, text: string): number {
  const value = pair.value as Node | null
  return value ? endOfNode(value, text) : (pair.key as Node).range![1] + 1
}

function endOfNode(node: Node, text: string): number {
  if (isMap(node) && !node.flow && node.items.length > 0) return endOf(node.items.at(-1)!, text)
  if (isSeq(node) && !node.flow && node.items.length > 0) return endOfNode(node.items.at(-1) as Node, text)
  let end = node.range![1]
  while (end > 0 && /\s/.test(text[end - 1]!)) end--
  return end
}

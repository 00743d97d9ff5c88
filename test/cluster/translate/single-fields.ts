import { createCelCompiler } from '../../../src/cel/compiler.ts'
import { createPatternCompiler } from '../../../src/cel/pattern.ts'
import type { Node, ObjectNode, Schema } from '../../../src/schema/builder.ts'
import { decode } from '../../../src/schema/decode.ts'

export type Path = readonly (string | number)[]
export interface Single {
  readonly path: Path
  readonly value: unknown
}

const cel = createCelCompiler()
const patterns = createPatternCompiler()
const TEXTS = [
  'a',
  '/a',
  '1s',
  '10m',
  'https://a.example',
  'a.example',
  '{"keys":[]}',
  '8Ki',
  '32Ki',
  'a: b',
  'user:{SHA}nU4eI71bcnBGqeO0t9tXvY1u5oQ=',
]
const MORE = [
  'arn:aws:iam::123456789012:role/x',
  'arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/x',
  'abc',
  'X-A',
  'true',
  '1',
]
const ARNS = ['arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/x']
const EXPRESSIONS = [
  'request.path',
  'request.path == "/z"',
  'response.code > 1',
  '"a"',
  'duration("2s")',
  '1',
  'true',
  '{"a": 1}',
  '0.5',
]

function accepts(node: Node, value: unknown): boolean {
  const findings: unknown[] = []
  decode({ node } as Schema<unknown>, value, [], {
    report: finding => findings.push(finding),
    paths: new WeakMap(),
    cel,
    patterns,
    missing: new Set(),
  })
  return findings.length === 0
}

/** For every leaf of a declaration a small valid value that holds it; `undefined` where none was found. */
export function* singles(node: Node, above: readonly Node[] = [], name = '', plain = false): Generator<Single> {
  switch (node.kind) {
    case 'lazy': {
      const inner = node.get().node
      if (!above.includes(inner)) yield* singles(inner, [...above, inner])
      return
    }
    case 'list':
      for (const { path, value } of singles(node.item.node, above)) yield { path: [0, ...path], value: [value] }
      return
    case 'map':
      for (const { path, value } of singles(node.value.node, above)) {
        const key = ['a', '*', '/a', 'tools/call'].find(name => accepts(node, { [name]: value })) ?? 'a'
        yield { path: [key, ...path], value: { [key]: value } }
      }
      return
    case 'shapes':
      for (const form of [node.string, node.object, node.list]) if (form) yield* singles(form.node, above)
      return
    case 'object':
      yield* ofObject(node, above)
      return
    default: {
      const value = [...(/Arn$/.test(name) ? ARNS : []), ...scalars(node, plain)].find(each => accepts(node, each))
      if (value !== undefined) yield { path: [], value }
    }
  }
}

function scalars(node: Node, plain: boolean): readonly unknown[] {
  switch (node.kind) {
    case 'enum':
      return plain ? node.values : [...node.values].reverse()
    case 'boolean':
      return [true]
    case 'number':
    case 'integer':
      return [7, 80, 403, node.min, node.max]
    case 'null':
      return [null]
    case 'json':
      return [{ a: 1 }, 'a']
    case 'cel':
      return EXPRESSIONS
    default:
      return [...TEXTS, ...MORE, 7, 80, 403, 20_000]
  }
}

function* ofObject(node: ObjectNode, above: readonly Node[]): Generator<Single> {
  if (Object.keys(node.fields).length === 0) yield { path: [], value: {} }
  for (const [name, field] of Object.entries(node.fields)) {
    for (const { path, value } of singles(field.schema.node, above, name)) {
      const whole = completed(node, name, value, above)
      if (whole) yield { path: [name, ...path], value: whole }
    }
  }
}

/** The field with what it cannot be without. */
function completed(node: ObjectNode, name: string, value: unknown, above: readonly Node[]): object | undefined {
  const smallest = (field: string) => singles(node.fields[field]!.schema.node, above, field, true).next().value?.value
  const base: Record<string, unknown> = {}
  for (const [other, field] of Object.entries(node.fields)) {
    if (other !== name && field.mode === 'required') base[other] = smallest(other)
  }
  for (const group of [...node.exactlyOneOf, ...node.atLeastOneOf]) {
    if (!group.some(field => field === name || base[field] !== undefined)) base[group[0]!] = smallest(group[0]!)
  }
  const plain = { ...base, [name]: value }
  if (accepts(node, plain)) return plain
  for (const other of Object.keys(node.fields).reverse()) {
    if (other === name || base[other] !== undefined) continue
    for (const { value: beside } of singles(node.fields[other]!.schema.node, above)) {
      const pair = { ...base, [other]: beside, [name]: value }
      if (accepts(node, pair)) return pair
      break
    }
  }
  for (const group of node.exactlyOneOf) {
    for (const member of group) {
      if (member === name) continue
      const rest = Object.fromEntries(Object.entries(base).filter(([field]) => !group.includes(field)))
      const other = { ...rest, [member]: smallest(member), [name]: value }
      if (accepts(node, other)) return other
    }
  }
  return undefined
}

/** Every leaf of a declaration, whether a value was found for it or not. */
export function leaves(node: Node, above: readonly Node[] = []): string[] {
  switch (node.kind) {
    case 'lazy': {
      const inner = node.get().node
      return above.includes(inner) ? [] : leaves(inner, [...above, inner])
    }
    case 'list':
      return leaves(node.item.node, above)
    case 'map':
      return leaves(node.value.node, above)
    case 'shapes':
      return [node.string, node.object, node.list].flatMap(form => (form ? leaves(form.node, above) : []))
    case 'object': {
      const inner = Object.entries(node.fields).flatMap(([name, field]) =>
        leaves(field.schema.node, above).map(leaf => (leaf === '' ? name : `${name}.${leaf}`)),
      )
      return inner.length === 0 ? [''] : inner
    }
    default:
      return ['']
  }
}

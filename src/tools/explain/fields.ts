import type { Field, FieldMode, Node, ObjectNode, Schema } from '../../schema/builder.ts'
import { typeNames } from '../../schema/describe.ts'

type AnyField = Field<unknown, FieldMode>

/** A field for display. */
export interface FieldFacts {
  /** `binds[].listeners[].name`. */
  readonly path: string
  readonly name: string
  readonly type: string
  readonly doc: string
  readonly required: boolean
  readonly default?: unknown
  readonly limits: readonly string[]
  readonly values?: readonly string[]
  readonly aliases: readonly string[]
  readonly spec?: string
  readonly unserved?: string
  readonly inert?: string
  readonly deprecated?: string
  readonly rules: readonly string[]
  readonly fields: readonly FieldSummary[]
  /** The alternative forms of a value, with the content of each. `fields` are those of the first. */
  readonly forms?: readonly FieldForm[]
  /** Paths of other fields of the same name. */
  readonly others?: readonly string[]
}

export interface FieldForm {
  /** `policies.localRateLimit[]`. */
  readonly path: string
  readonly rules: readonly string[]
  readonly fields: readonly FieldSummary[]
}

export interface FieldSummary {
  readonly name: string
  readonly path: string
  readonly type: string
  readonly doc: string
  readonly required: boolean
  /** Nested fields, if requested; omitted where they would repeat an enclosing object. */
  readonly fields?: readonly FieldSummary[]
}

export interface Missing {
  /** The part of the path without a field, and the existing alternatives. */
  readonly unknown: string
  readonly at: string
  readonly known: readonly string[]
}

/** Resolves `binds.listeners[0].name` (indices are optional) in a declaration. */
export function findField(
  root: string,
  schema: Schema<unknown>,
  steps: readonly string[],
  recursive = false,
): FieldFacts | Missing {
  let path = root
  let node = schema.node
  let field: AnyField | undefined
  for (const step of steps) {
    const forms = formsOf(node)
    const form = forms.find(({ object }) => object.index().spelt.has(step))
    const known = form?.object.index().spelt.get(step)
    if (form !== undefined && known !== undefined) {
      field = known.field
      path = join(`${path}${form.suffix}`, known.name)
      node = field.schema.node
    } else {
      const values = mapOf(node)
      if (values === undefined) {
        return { unknown: step, at: path, known: forms.flatMap(({ object }) => Object.keys(object.fields)) }
      }
      field = undefined
      path = `${path}${listDepth(node)}.<name>`
      node = values
    }
  }
  return factsOf(path, steps.at(-1) ?? root, node, field, recursive)
}

/** The field with its own fields and their summaries, or all descendants if `recursive`. */
export function factsOf(
  path: string,
  name: string,
  node: Node,
  field: AnyField | undefined,
  recursive = false,
): FieldFacts {
  const object = objectOf(node)
  const suffix = listDepth(node)
  const forms = formsOf(node)
  return {
    path: `${path}${suffix}`,
    name,
    type: typeNames(resolve(node)),
    doc: field?.doc ?? '',
    required: field?.mode === 'required',
    ...(field?.default !== undefined && { default: field.default }),
    limits: limitsOf(resolve(node)),
    ...(valuesOf(node) && { values: valuesOf(node)! }),
    aliases: field?.aliases ?? [],
    ...(field?.spec !== undefined && { spec: field.spec }),
    ...(field?.unserved !== undefined && { unserved: field.unserved }),
    ...(field?.inert !== undefined && { inert: field.inert }),
    ...(field?.deprecated !== undefined && { deprecated: field.deprecated }),
    rules: object ? rulesOf(object) : [],
    fields: object ? summaries(object, `${path}${suffix}`, recursive ? [object] : undefined) : [],
    ...(forms.length > 1 && { forms: forms.map(form => formFacts(form, path, recursive)) }),
  }
}

function formFacts({ object, suffix }: Form, path: string, recursive: boolean): FieldForm {
  const at = `${path}${suffix}`
  return { path: at, rules: rulesOf(object), fields: summaries(object, at, recursive ? [object] : undefined) }
}

/** Every field whose path ends with `steps`, shallowest first. */
export function fieldsNamed(root: string, schema: Schema<unknown>, steps: readonly string[]): readonly string[] {
  return [...fieldsBelow(root, schema)].flatMap(({ path, names }) => (endsWith(names, steps) ? [path] : []))
}

export interface FieldPlace {
  readonly path: string
  /** The names along the path, without placeholders. */
  readonly names: readonly string[]
  readonly field: AnyField
}

/** Every field of a declaration, level by level. Shared parts come once, at the shallowest place. */
export function* fieldsBelow(root: string, schema: Schema<unknown>): Generator<FieldPlace> {
  const seen = new Set<ObjectNode>()
  let level: readonly (readonly [path: string, names: readonly string[], node: Node])[] = [[root, [], schema.node]]
  while (level.length > 0) {
    const next: (typeof level)[number][] = []
    for (const [path, names, node] of level) {
      const values = mapOf(node)
      if (values !== undefined) next.push([`${path}.<name>`, names, values])
      for (const { object, suffix } of formsOf(node)) {
        if (seen.has(object)) continue
        seen.add(object)
        for (const [name, field] of Object.entries(object.fields)) {
          const place = { path: join(`${path}${suffix}`, name), names: [...names, name], field }
          yield place
          next.push([place.path, place.names, field.schema.node])
        }
      }
    }
    level = next
  }
}

function endsWith(names: readonly string[], steps: readonly string[]): boolean {
  const from = names.length - steps.length
  return from >= 0 && steps.every((step, i) => names[from + i]?.toLowerCase() === step.toLowerCase())
}

/** `around`: the enclosing objects, if nested fields are wanted. */
function summaries(object: ObjectNode, path: string, around?: readonly ObjectNode[]): FieldSummary[] {
  return Object.entries(object.fields).map(([name, { schema, doc, mode }]) => {
    const summary = {
      name,
      path: join(path, name),
      type: typeNames(resolve(schema.node)),
      doc,
      required: mode === 'required',
    }
    const fields = around && inside(schema.node, summary.path, around)
    return fields === undefined ? summary : { ...summary, fields }
  })
}

function inside(node: Node, path: string, around: readonly ObjectNode[]): FieldSummary[] | undefined {
  const below = `${path}${listDepth(node)}`
  const object = objectOf(node)
  if (object) return around.includes(object) ? undefined : summaries(object, below, [...around, object])
  const values = mapOf(node)
  if (values === undefined) return undefined
  const named = `${below}.<name>`
  const fields = inside(values, named, around)
  const entry = { name: '<name>', path: named, type: typeNames(resolve(values)), doc: '', required: false }
  return [fields === undefined ? entry : { ...entry, fields }]
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

interface Form {
  readonly object: ObjectNode
  /** `[]` for each enclosing list. */
  readonly suffix: string
}

/** The objects that a value may be or contain, first the one that `objectOf` finds. */
function formsOf(node: Node): readonly Form[] {
  switch (node.kind) {
    case 'object':
      return [{ object: node, suffix: '' }]
    case 'lazy':
      return formsOf(node.get().node)
    case 'list':
      return formsOf(node.item.node).map(({ object, suffix }) => ({ object, suffix: `[]${suffix}` }))
    case 'parsed':
      return formsOf(node.base.node)
    case 'shapes':
      return [node.object, node.list].flatMap(each => (each ? formsOf(each.node) : []))
    default:
      return []
  }
}

/** The object that a value is or contains, through lists, short forms and recursion. */
function objectOf(node: Node): ObjectNode | undefined {
  switch (node.kind) {
    case 'object':
      return node
    case 'lazy':
      return objectOf(node.get().node)
    case 'list':
      return objectOf(node.item.node)
    case 'parsed':
      return objectOf(node.base.node)
    case 'shapes':
      return firstObject([node.object, node.list])
    default:
      return undefined
  }
}

function firstObject(schemas: readonly (Schema<unknown> | undefined)[]): ObjectNode | undefined {
  for (const schema of schemas) {
    const found = schema && objectOf(schema.node)
    if (found) return found
  }
  return undefined
}

/** The value type of a map. */
function mapOf(node: Node): Node | undefined {
  switch (node.kind) {
    case 'map':
      return node.value.node
    case 'lazy':
      return mapOf(node.get().node)
    case 'list':
      return mapOf(node.item.node)
    case 'shapes':
      return node.object && mapOf(node.object.node)
    default:
      return undefined
  }
}

function resolve(node: Node): Node {
  return node.kind === 'lazy' ? resolve(node.get().node) : node
}

function listDepth(node: Node): string {
  if (node.kind === 'lazy') return listDepth(node.get().node)
  return node.kind === 'list' ? `[]${listDepth(node.item.node)}` : ''
}

function limitsOf(node: Node): string[] {
  switch (node.kind) {
    case 'integer':
    case 'number':
      return range('', node.min, node.max)
    case 'string':
      return [...range('characters: ', node.min, node.max), ...(node.form === undefined ? [] : [node.form])]
    case 'list':
      return [
        ...range('items: ', node.min, node.max),
        ...(node.unique ? ['no two alike'] : []),
        ...limitsOf(resolve(node.item.node)).map(limit => `each item: ${limit}`),
      ]
    case 'map':
      return range('entries: ', node.min, node.max)
    case 'cel':
      return [`may name the variables of ${node.scope}`, `gives ${node.result}`]
    default:
      return []
  }
}

function range(what: string, min: number, max: number): string[] {
  const low = Number.isFinite(min) && min !== Number.MIN_SAFE_INTEGER && (what === '' || min > 0)
  const high = Number.isFinite(max) && max !== Number.MAX_SAFE_INTEGER
  if (low && high) return [`${what}${min} to ${max}`]
  if (low) return [`${what}at least ${min}`]
  return high ? [`${what}at most ${max}`] : []
}

function valuesOf(node: Node): readonly string[] | undefined {
  const plain = resolve(node)
  if (plain.kind === 'enum') return plain.values
  if (plain.kind === 'list') return valuesOf(plain.item.node)
  return plain.kind === 'shapes' && plain.string ? valuesOf(plain.string.node) : undefined
}

function rulesOf(object: ObjectNode): string[] {
  const words = (groups: readonly (readonly string[])[], how: string): string[] =>
    groups.map(names => `${how} of ${names.map(name => `\`${name}\``).join(', ')}`)
  return [
    ...words(object.exactlyOneOf, 'exactly one'),
    ...words(object.atMostOneOf, 'at most one'),
    ...words(object.atLeastOneOf, 'at least one'),
  ]
}

import type { Field, FieldMode, Node, ObjectNode, Schema, ServerRule, ShapesNode } from './builder.ts'
import type { JsonSchema } from './emit.ts'

/**
 * The declaration as a structural schema: the OpenAPI v3 of CustomResourceDefinitions. It has no references, lists
 * every field, and expresses only those cross-field rules that Kubernetes CEL can (`ServerRule`).
 */
export function emitStructural(schema: Schema<unknown>): JsonSchema {
  return structural(schema.node, true)
}

/** `bounded`: the number of its occurrences is limited. */
function structural(node: Node, bounded: boolean): JsonSchema {
  switch (node.kind) {
    case 'json':
      return ANYTHING
    case 'boolean':
      return { type: 'boolean' }
    case 'string':
      return {
        type: 'string',
        ...(node.min > 0 ? { minLength: node.min } : {}),
        ...bound('maxLength', node.max),
        ...(node.pattern === undefined ? {} : { pattern: node.pattern.source }),
      }
    case 'enum':
      return { type: 'string', enum: [...node.values, ...Object.keys(node.aliases)] }
    case 'integer':
    case 'number':
      return { type: node.kind, ...bound('minimum', node.min), ...bound('maximum', node.max) }
    case 'cel':
      return { type: 'string', minLength: 1, maxLength: node.max }
    case 'regex':
      return { type: 'string' }
    case 'list':
      return listSchema(node, bounded)
    case 'map':
      return mapSchema(node, bounded)
    case 'object':
      return objectSchema(node, bounded)
    case 'shapes':
      return shapesSchema(node, bounded)
    case 'parsed':
      return {
        ...(node.published ? publishedSchema(node.published) : structural(node.base.node, bounded)),
        ...rules(node.rules),
      }
    case 'lazy':
    case 'null':
      throw new Error(`a structural schema cannot say \`${node.kind}\``)
  }
}

const ANYTHING: JsonSchema = { 'x-kubernetes-preserve-unknown-fields': true }

function listSchema(node: Extract<Node, { kind: 'list' }>, bounded: boolean): JsonSchema {
  return {
    type: 'array',
    items: structural(node.item.node, bounded && Number.isFinite(node.max)),
    ...count('Items', node),
    ...(node.unique === true ? { 'x-kubernetes-list-type': 'set' } : {}),
    ...(typeof node.unique === 'object'
      ? { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [...node.unique] }
      : {}),
  }
}

function mapSchema(node: Extract<Node, { kind: 'map' }>, bounded: boolean): JsonSchema {
  const values = structural(node.value.node, bounded && Number.isFinite(node.max))
  return {
    type: 'object',
    ...(node.value.node.kind === 'json' ? ANYTHING : { additionalProperties: values }),
    ...count('Properties', node),
    ...rules(node.rules),
  }
}

function objectSchema(node: ObjectNode, bounded: boolean): JsonSchema {
  const properties: JsonSchema = {}
  const exclusive = new Set([...node.exactlyOneOf, ...node.atMostOneOf].flat())
  const required: string[] = []
  const groups: Group[] = []
  for (const [name, field] of Object.entries(node.fields)) {
    const spelt = [name, ...(field.aliases ?? [])]
    for (const spelling of spelt) properties[spelling] = fieldSchema(field, exclusive.has(name), bounded)
    if (spelt.length > 1) groups.push({ holds: 'at most one', names: spelt, spelt: spelt.map(each => [each]) })
    if (field.mode !== 'required') continue
    if (spelt.length === 1) required.push(name)
    else groups.push({ holds: 'at least one', names: spelt, spelt: [spelt] })
  }
  const declared = [
    ...node.exactlyOneOf.map(names => ({ holds: 'exactly one' as const, names })),
    ...node.atLeastOneOf.map(names => ({ holds: 'at least one' as const, names })),
    ...node.atMostOneOf.map(names => ({ holds: 'at most one' as const, names })),
  ]
  for (const group of declared) {
    const spelt = group.names.map(name => [name, ...(node.fields[name]?.aliases ?? [])])
    if (spelt.flat().length === 1) required.push(...group.names)
    else groups.push({ ...group, spelt })
  }
  return {
    type: 'object',
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required } : {}),
    ...(node.open ? ANYTHING : {}),
    ...(bounded || groups.length === 0 ? {} : { allOf: groups.map(keywordFor) }),
    ...rules([...(bounded ? groups.map(ruleFor) : []), ...(node.rules ?? [])]),
  }
}

/** A constraint on how many fields are set; `spelt` has the accepted spellings of each. */
interface Group {
  readonly holds: 'exactly one' | 'at least one' | 'at most one'
  readonly names: readonly string[]
  readonly spelt: readonly (readonly string[])[]
}

function ruleFor({ holds, names, spelt }: Group): ServerRule {
  const message = `${holds} of ${names.join(', ')} ${holds === 'at most one' ? 'may' : 'must'} be set`
  const set = spelt.map(has)
  if (holds === 'at least one') return { rule: set.join(' || '), message }
  const [first, second] = spelt.map(each => (each.length === 1 ? has(each) : `(${has(each)})`))
  if (spelt.length === 2)
    return { rule: holds === 'at most one' ? `!${first} || !${second}` : `${first} != ${second}`, message }
  const tally = set.map(each => `(${each} ? 1 : 0)`).join(' + ')
  return { rule: `${tally} ${holds === 'at most one' ? '<=' : '=='} 1`, message }
}

/**
 * A rule's cost is multiplied by the object's maximum occurrences, too high if unbounded. Keywords are free, but give
 * worse messages.
 */
function keywordFor({ holds, spelt }: Group): JsonSchema {
  const names = spelt.flat()
  const set = names.map(name => ({ required: [name] }))
  if (holds === 'exactly one') return { oneOf: set }
  if (holds === 'at least one') return { anyOf: set }
  const pairs = names.flatMap((name, i) => names.slice(i + 1).map(other => ({ required: [name, other] })))
  return { not: { anyOf: pairs } }
}

/** `exclusive`: a default filled in by the server would conflict with the fields it excludes. */
function fieldSchema(field: Field<unknown, FieldMode>, exclusive: boolean, bounded: boolean): JsonSchema {
  return {
    description: field.deprecated === undefined ? field.doc : `${field.doc} Deprecated: ${field.deprecated}`,
    ...structural(field.schema.node, bounded),
    ...(field.mode === 'default' && !exclusive ? { default: field.default } : {}),
  }
}

/** A structural schema supports only a union of text and integers; others stay open except for rules about text. */
function shapesSchema(node: ShapesNode, bounded: boolean): JsonSchema {
  const { string, number, boolean, list, object, null: none } = node
  const { type: _, ...text } = string ? structural(string.node, bounded) : {}
  if (!string || !number || boolean || list || object || none) return { ...text, ...ANYTHING }
  const { type: __, ...whole } = structural(number.node, bounded)
  return { ...text, ...whole, 'x-kubernetes-int-or-string': true }
}

function publishedSchema({ type, ...rest }: JsonSchema): JsonSchema {
  return Array.isArray(type) ? { ...rest, 'x-kubernetes-int-or-string': true } : { type, ...rest }
}

function has(spellings: readonly string[]): string {
  return spellings.map(name => `has(self.${celName(name)})`).join(' || ')
}

/** The name of a field in CEL: Kubernetes escapes reserved words. */
function celName(name: string): string {
  return RESERVED.has(name) ? `__${name}__` : name
}
const RESERVED = new Set(
  'as break const continue else false for function if import in let loop namespace null package return true var void while'.split(
    ' ',
  ),
)

function rules(list: readonly ServerRule[] = []): JsonSchema {
  return list.length === 0 ? {} : { 'x-kubernetes-validations': list.map(({ rule, message }) => ({ rule, message })) }
}

function count(what: 'Items' | 'Properties', { min, max }: { readonly min: number; readonly max: number }): JsonSchema {
  return { ...(min > 0 ? { [`min${what}`]: min } : {}), ...bound(`max${what}`, max) }
}

function bound(keyword: string, value: number): JsonSchema {
  const none = !Number.isFinite(value) || Math.abs(value) === Number.MAX_SAFE_INTEGER
  return none ? {} : { [keyword]: value }
}

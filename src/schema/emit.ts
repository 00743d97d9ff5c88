import type { Field, FieldMode, Node, ObjectNode, Schema, ShapesNode, StringNode } from './builder.ts'

export type JsonSchema = { [keyword: string]: unknown }
export interface EmitOptions {
  readonly title: string
  readonly description?: string
}

/**
 * The declaration as JSON Schema 2020-12, for editors and other tools. Only standard keywords carry meaning: it accepts
 * everything that `decode` accepts, and rejects whatever can be rejected without parsing text. Objects used in several
 * places become definitions. `x-…` keywords are hints for tools that know them.
 */
export function emit(schema: Schema<unknown>, options: EmitOptions): JsonSchema {
  const emission = new Emission(schema.node)
  const root = emission.inline(schema.node)
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...root,
    title: options.title,
    ...(options.description === undefined ? {} : { description: options.description }),
    $defs: emission.definitions(),
  }
}

class Emission {
  readonly #uses = new Map<Node, number>()
  readonly #entered = new Set<Node>()
  readonly #names = new Map<Node, string>()
  readonly #taken = new Set<string>()
  readonly #definitions = new Map<string, JsonSchema>()

  constructor(root: Node) {
    this.#count(root)
  }

  /** Sorted by name, so that the output is deterministic. */
  definitions(): JsonSchema {
    return Object.fromEntries([...this.#definitions].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  inline(node: Node): JsonSchema {
    switch (node.kind) {
      case 'json':
        return {}
      case 'null':
        return { type: 'null' }
      case 'boolean':
        return { type: 'boolean' }
      case 'string':
        return text(node)
      case 'enum':
        return { type: 'string', enum: [...node.values, ...Object.keys(node.aliases)] }
      case 'integer':
      case 'number':
        return { type: node.kind, ...bound('minimum', node.min), ...bound('maximum', node.max) }
      case 'cel':
        return {
          type: 'string',
          minLength: 1,
          maxLength: node.max,
          'x-cel': { scope: node.scope, result: node.result },
        }
      case 'regex':
        return { type: 'string', format: 'regex', 'x-regex': node.anchored ? 'RE2, whole text' : 'RE2' }
      case 'list':
        return {
          type: 'array',
          items: this.emit(node.item.node),
          ...count('Items', node),
          ...(node.unique === true ? { uniqueItems: true } : {}),
        }
      case 'map':
        return { type: 'object', additionalProperties: this.emit(node.value.node), ...count('Properties', node) }
      case 'object':
        return this.#object(node)
      case 'shapes':
        return this.#shapes(node)
      case 'parsed':
        return node.published ? { ...node.published } : this.emit(node.base.node)
      case 'lazy':
        return this.emit(node)
    }
  }

  /** A reference if the node is a definition, otherwise its schema. */
  emit(node: Node): JsonSchema {
    const target = node.kind === 'lazy' ? node.get().node : node
    if (node.kind !== 'lazy' && (this.#uses.get(node) ?? 0) < 2) return this.inline(node)
    const known = this.#names.get(target)
    if (known !== undefined) return { $ref: `#/$defs/${known}` }
    const name = this.#name(node.kind === 'lazy' ? node.name : (target as ObjectNode).name)
    this.#names.set(target, name)
    this.#definitions.set(name, this.inline(target))
    return { $ref: `#/$defs/${name}` }
  }

  #name(noun: string): string {
    const words = noun.replace(/[^A-Za-z0-9]+(.)?/g, (_, next: string | undefined) => (next ?? '').toUpperCase())
    const name = words[0]!.toUpperCase() + words.slice(1)
    for (let n = 1; ; n++) {
      const candidate = n === 1 ? name : `${name}${n}`
      if (this.#taken.has(candidate)) continue
      this.#taken.add(candidate)
      return candidate
    }
  }

  #count(node: Node): void {
    if (node.kind === 'object') {
      const uses = (this.#uses.get(node) ?? 0) + 1
      this.#uses.set(node, uses)
      if (uses > 1) return
    }
    if (node.kind === 'lazy') this.#countOnce(node.get().node)
    else for (const inner of children(node)) this.#count(inner)
  }

  /** A recursive schema is a definition anyway; its content is counted once. */
  #countOnce(target: Node): void {
    if (this.#entered.has(target)) return
    this.#entered.add(target)
    this.#count(target)
  }

  #shapes(node: ShapesNode): JsonSchema {
    const forms = [node.string, node.number, node.boolean, node.list, node.object, node.null].flatMap(form =>
      form === undefined ? [] : [this.emit(form.node)],
    )
    return forms.length === 1 ? forms[0]! : { anyOf: forms }
  }

  #object(node: ObjectNode): JsonSchema {
    const properties: JsonSchema = {}
    const required: string[] = []
    const rules: JsonSchema[] = []
    const grouped = new Set([...node.exactlyOneOf, ...node.atLeastOneOf].flat())
    for (const name in node.fields) {
      const field = node.fields[name]!
      const aliases = field.aliases ?? []
      const value = this.#field(field, grouped.has(name))
      properties[name] = value
      for (const alias of aliases) properties[alias] = { ...value, description: `Same as \`${name}\`.` }
      rules.push(...atMostOne([name, ...aliases]))
      if (field.mode !== 'required') continue
      if (aliases.length === 0) required.push(name)
      else rules.push(anyOf([name, ...aliases]))
    }
    const spellings = (group: readonly string[]) => group.flatMap(name => [name, ...(node.fields[name]?.aliases ?? [])])
    for (const group of node.exactlyOneOf) rules.push(exactlyOne(spellings(group)))
    for (const group of node.atLeastOneOf) rules.push(anyOf(spellings(group)))
    for (const group of node.atMostOneOf) rules.push(...atMostOne(group))
    return {
      title: node.name,
      type: 'object',
      properties,
      ...(node.open ? {} : { additionalProperties: false }),
      ...(required.length > 0 ? { required } : {}),
      ...allOf(rules),
    }
  }

  /** `grouped`: part of a group of which one must be set, and therefore not null. */
  #field(field: Field<unknown, FieldMode>, grouped: boolean): JsonSchema {
    const inner = this.emit(field.schema.node)
    return {
      description: field.deprecated === undefined ? field.doc : `${field.doc} Deprecated: ${field.deprecated}`,
      ...(field.mode === 'optional' && !grouped ? orNull(inner) : inner),
      ...(field.mode === 'default' ? { default: field.default } : {}),
      ...(field.deprecated === undefined ? {} : { deprecated: true }),
      ...(field.unserved === undefined ? {} : { 'x-unserved': field.unserved }),
      ...(field.spec === undefined ? {} : { 'x-spec': field.spec }),
    }
  }
}

function children(node: Node): readonly Node[] {
  switch (node.kind) {
    case 'list':
      return [node.item.node]
    case 'map':
      return [node.value.node]
    case 'object':
      return Object.values(node.fields).map(field => field.schema.node)
    case 'shapes':
      return [node.string, node.number, node.boolean, node.list, node.object, node.null].flatMap(
        form => form?.node ?? [],
      )
    case 'parsed':
      return node.published ? [] : [node.base.node]
    default:
      return []
  }
}

function text(node: StringNode): JsonSchema {
  return {
    type: 'string',
    ...(node.min > 0 ? { minLength: node.min } : {}),
    ...bound('maxLength', node.max),
    ...(node.pattern === undefined ? {} : { pattern: node.pattern.source }),
    ...(node.secret === true ? { writeOnly: true, 'x-secret': true } : {}),
  }
}

function count(what: 'Items' | 'Properties', { min, max }: { readonly min: number; readonly max: number }): JsonSchema {
  return { ...(min > 0 ? { [`min${what}`]: min } : {}), ...bound(`max${what}`, max) }
}

function bound(keyword: string, value: number): JsonSchema {
  const none = !Number.isFinite(value) || Math.abs(value) === Number.MAX_SAFE_INTEGER
  return none ? {} : { [keyword]: value }
}

/** A key without a value counts as absent. */
function orNull(schema: JsonSchema): JsonSchema {
  const { type, anyOf: forms } = schema
  if (Array.isArray(schema.enum)) return { ...schema, type: ['string', 'null'], enum: [...schema.enum, null] }
  if (schema.$ref !== undefined || hasRules(schema)) return { anyOf: [schema, { type: 'null' }] }
  if (typeof type === 'string') return type === 'null' ? schema : { ...schema, type: [type, 'null'] }
  if (Array.isArray(type)) return type.includes('null') ? schema : { ...schema, type: [...type, 'null'] }
  if (!Array.isArray(forms)) return schema
  return forms.some(form => (form as JsonSchema).type === 'null')
    ? schema
    : { ...schema, anyOf: [...forms, { type: 'null' }] }
}

/** Rules about keys accept null vacuously, and `oneOf` counts that as a match. */
function hasRules(schema: JsonSchema): boolean {
  return schema.type === 'object' && ['oneOf', 'anyOf', 'allOf', 'not'].some(keyword => keyword in schema)
}

function exactlyOne(names: readonly string[]): JsonSchema {
  return names.length === 1 ? { required: [...names] } : { oneOf: names.map(name => ({ required: [name] })) }
}

function anyOf(names: readonly string[]): JsonSchema {
  return names.length === 1 ? { required: [...names] } : { anyOf: names.map(name => ({ required: [name] })) }
}

function atMostOne(names: readonly string[]): JsonSchema[] {
  return names.flatMap((name, i) => names.slice(i + 1).map(other => ({ not: { required: [name, other] } })))
}

/** Puts the rules next to `properties` if their keyword is unused, in `allOf` otherwise. */
function allOf(rules: readonly JsonSchema[]): JsonSchema {
  const [only] = rules
  if (only === undefined) return {}
  return rules.length === 1 && only.required === undefined ? only : { allOf: rules }
}

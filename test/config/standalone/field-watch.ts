import type { Field, FieldMode, Node, ObjectNode, Schema } from '../../../src/schema/builder.ts'

export interface DeclaredField {
  /** The object that declares it; one that several places share is one object. */
  readonly object: ObjectNode
  readonly name: string
  /** The first place where it can stand. */
  readonly path: string
}

/** The fields that something has to follow from: not those declared as unserved or inert, nor what is inside of them. */
export function effectiveFields(schema: Schema<unknown>): DeclaredField[] {
  const out: DeclaredField[] = []
  const known = new Set<Node>()
  const visit = (node: Node, path: string): void => {
    if (known.has(node)) return
    known.add(node)
    if (node.kind === 'object') {
      for (const [name, field] of Object.entries(node.fields)) {
        if (!hasEffect(field)) continue
        out.push({ object: node, name, path: `${path}.${name}` })
        visit(field.schema.node, `${path}.${name}`)
      }
    } else for (const [inner, step] of within(node)) visit(inner, `${path}${step}`)
  }
  visit(schema.node, '')
  return out
}

function hasEffect({ unserved, inert }: Field<unknown, FieldMode>): boolean {
  return unserved === undefined && inert === undefined
}

function within(node: Node): readonly (readonly [Node, string])[] {
  switch (node.kind) {
    case 'lazy':
      return [[node.get().node, '']]
    case 'list':
      return [[node.item.node, '[]']]
    case 'map':
      return [[node.value.node, '.*']]
    case 'parsed':
      return [[node.base.node, '']]
    case 'shapes':
      return [node.string, node.number, node.boolean, node.list, node.object].flatMap(form =>
        form ? [[form.node, ''] as const] : [],
      )
    default:
      return []
  }
}

/** Which fields of decoded objects anybody has asked for, whether they were set or not. */
export class FieldWatch {
  readonly #read = new Map<ObjectNode, Set<string>>()

  watch(object: ObjectNode, value: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const read = this.#read.get(object) ?? new Set()
    this.#read.set(object, read)
    return tellReads(value, name => read.add(name))
  }

  wasRead({ object, name }: DeclaredField): boolean {
    return this.#read.get(object)?.has(name) === true
  }
}

/** Tells of each property that is asked for by its name. Copying all of them, or writing them as JSON, is no asking. */
function tellReads(value: Readonly<Record<string, unknown>>, read: (name: string) => void): Record<string, unknown> {
  // A copy asks for the descriptor of each property, and then for its value.
  const copying = new Set<string | symbol>()
  return new Proxy(value, {
    ownKeys(target) {
      copying.clear()
      return Reflect.ownKeys(target)
    },
    getOwnPropertyDescriptor(target, name) {
      copying.add(name)
      return Reflect.getOwnPropertyDescriptor(target, name)
    },
    get(target, name) {
      if (!copying.delete(name) && typeof name === 'string') read(name)
      return Reflect.get(target, name)
    },
  })
}

import type { Node, Schema } from '../../src/schema/builder.ts'

export interface Leaf {
  readonly path: readonly string[]
  readonly secret: boolean
}

/**
 * A document with every field of a declaration in it and `text(leaf)` in every text. Choices are not respected, so that
 * it holds all of their members; of several forms, the seed picks one at each place.
 */
export function sample(schema: Schema<unknown>, seed: number, text: (leaf: Leaf) => string): unknown {
  let state = seed
  const pick = <T>(from: readonly T[]): T => {
    state = (state * 1664525 + 1013904223) >>> 0
    return from[Math.floor((state / 2 ** 32) * from.length)]!
  }
  return fill(schema.node, [], { text, pick }, [])
}

interface Filling {
  readonly text: (leaf: Leaf) => string
  readonly pick: <T>(from: readonly T[]) => T
}

function fill(node: Node, path: readonly string[], filling: Filling, above: readonly Node[]): unknown {
  const { text } = filling
  const inside = (inner: Node, step: string) => fill(inner, [...path, step], filling, [...above, inner])
  switch (node.kind) {
    case 'json':
      return { anything: text({ path, secret: false }) }
    case 'string':
      return text({ path, secret: node.secret === true })
    case 'enum':
    case 'cel':
    case 'regex':
      return text({ path, secret: false })
    case 'number':
    case 'integer':
      return 1
    case 'boolean':
      return true
    case 'null':
      return null
    case 'list':
      return [inside(node.item.node, '[]')]
    case 'map':
      return { key: inside(node.value.node, '{}') }
    case 'parsed':
      return fill(node.base.node, path, filling, above)
    case 'lazy': {
      const target = node.get().node
      return above.includes(target) ? {} : fill(target, path, filling, [...above, target])
    }
    case 'object':
      return Object.fromEntries(
        Object.entries(node.fields).flatMap(([name, field]) =>
          [name, ...(field.aliases ?? [])].map(key => [key, inside(field.schema.node, key)] as const),
        ),
      )
    case 'shapes': {
      const forms = [node.string, node.object, node.list, node.number, node.boolean].filter(form => form !== undefined)
      return forms.length === 0 ? null : fill(filling.pick(forms).node, path, filling, above)
    }
  }
}

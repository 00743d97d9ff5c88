import type { Node } from './builder.ts'

/** Whether a value of this declaration can be a secret, or directly contain one: as an item, an entry or a field. */
export function holdsSecret(node: Node): boolean {
  if (isSecret(node)) return true
  return node.kind === 'object' && (!!node.secretField || fieldsOf(node).some(({ node: field }) => isSecret(field)))
}

/** Names of fields that hold secrets, anywhere in these declarations. */
export function secretNames(roots: Iterable<Node>): ReadonlySet<string> {
  const names = new Set<string>()
  const seen = new Set<Node>()
  const left = [...roots]
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (seen.has(node)) continue
    seen.add(node)
    left.push(...below(node))
    if (node.kind !== 'object') continue
    if (node.secretField) names.add(node.secretField.name)
    for (const [name, { schema, aliases = [] }] of Object.entries(node.fields)) {
      if (isSecret(schema.node)) for (const each of [name, ...aliases]) names.add(each)
    }
  }
  return names
}

function isSecret(node: Node): boolean {
  switch (node.kind) {
    case 'string':
      return node.secret === true
    case 'map':
      return node.secretKeys !== undefined || isSecret(node.value.node)
    case 'list':
    case 'parsed':
    case 'shapes':
      return below(node).some(isSecret)
    default:
      return false
  }
}

function below(node: Node): readonly Node[] {
  switch (node.kind) {
    case 'list':
      return [node.item.node]
    case 'map':
      return [node.value.node]
    case 'parsed':
      return [node.base.node]
    case 'lazy':
      return [node.get().node]
    case 'object':
      return fieldsOf(node).map(field => field.node)
    case 'shapes':
      return [node.string, node.number, node.boolean, node.list, node.object].flatMap(form => form?.node ?? [])
    default:
      return []
  }
}

function fieldsOf(node: Extract<Node, { kind: 'object' }>) {
  return Object.values(node.fields).map(({ schema }) => schema)
}

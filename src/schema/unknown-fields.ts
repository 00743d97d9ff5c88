import type { Path } from '../diagnostics/diagnostic.ts'
import { closest, editDistance } from '../diagnostics/suggest.ts'
import type { Node, ObjectNode } from './builder.ts'
import type { DecodeContext, Enclosing, LivePath } from './decode-context.ts'
import { didYouMeanOneOf, fieldsMeant } from './meant.ts'

/** A parameter to avoid a cycle: objects contain values of every kind, and every kind may contain objects. */
export type Decode = (node: Node, value: unknown, path: LivePath, ctx: DecodeContext) => unknown

/** Missing fields that an unknown sibling key explains: a misspelt key is one mistake, not two. */
export class Excuses {
  #names: Set<string> | undefined
  #free = 0
  name(names: readonly string[]): void {
    if (names.length === 0) this.#free++
    this.#names ??= new Set()
    for (const name of names) this.#names.add(name)
  }
  take(name: string): boolean {
    if (this.#names?.delete(name)) return true
    if (this.#free === 0) return false
    this.#free--
    return true
  }
}

export function reportUnknown(
  node: ObjectNode,
  keys: readonly string[],
  value: Readonly<Record<string, unknown>>,
  present: ReadonlyMap<string, string>,
  path: Path,
  ctx: DecodeContext,
  decodeNode: Decode,
  enclosing: Enclosing,
): Excuses {
  const excuse = new Excuses()
  const free = Object.keys(node.fields).filter(name => !present.has(name))
  const answered = new Set<string>()
  for (const key of keys) {
    const known = fieldsMeant(key, node.fields).filter(name => !present.has(name))
    const near = known.length > 0 ? known : closest(key, free)
    excuse.name(near)
    // An exact match in a nested object is more likely meant than a similar name here, except for a missing `s`.
    const plural = near.some(name => name === `${key}s` || key === `${name}s`)
    const place = plural || known.length > 0 ? undefined : openHome(node, key, near.length > 0 ? MAX_STEPS : 1, present)
    const said = tornField(key, node) ?? node.instead?.[key]
    // Several keys with the same correction are one mistake.
    if (said !== undefined && answered.has(said)) continue
    if (said !== undefined) answered.add(said)
    // The correction covers the whole object, including what is missing.
    if (said !== undefined && node.instead?.[key] === said) excuse.name(free)
    const outer = said === undefined && near.length === 0 && place === undefined ? outerHome(key, ctx) : undefined
    if (place !== undefined) enclosing.moved = (enclosing.moved ?? new Set()).add(key)
    const [best] = near
    const certain =
      best !== undefined && near.length === 1 && known.length === 0 && place === undefined && said === undefined
    ctx.report({
      code: 'GW102',
      message: `unknown field \`${key}\` in ${node.name}`,
      path: [...path, key],
      at: 'key',
      label: 'not a field here',
      help: said ?? placeHelp(place, key) ?? outer ?? didYouMeanOneOf(near.slice(0, 3)) ?? listed(free, node),
      ...(certain && isTypo(key, best) && fits(node, best, value[key], path, ctx, decodeNode)
        ? { fix: { title: `rename to \`${best}\``, safe: true, replace: 'key' as const, with: best } }
        : {}),
    })
  }
  return excuse
}

function placeHelp(place: string | undefined, key: string): string | undefined {
  if (place === undefined) return undefined
  if (place.endsWith('[]')) return `move \`${key}\` into an item of \`${place.slice(0, -2)}\``
  return `move \`${key}\` into \`${place}\``
}

/** A typo rather than another word: `retries` is not `retry`, and `jwtAuthentication` not `mcpAuthentication`. */
function isTypo(key: string, name: string): boolean {
  const [a, b] = [key, name].map(each => each.replace(/[-_. ]/g, '').toLowerCase()) as [string, string]
  return a === b || editDistance(a, b, 2) <= (Math.min(a.length, b.length) <= 7 ? 1 : 2)
}

/** Whether the value of a misspelt key would be valid for the field. */
function fits(node: ObjectNode, name: string, item: unknown, path: Path, ctx: DecodeContext, decodeNode: Decode) {
  // Within a trial the spelling suffices: nested trials would double the work at every level.
  if (ctx.trial) return true
  let sound = true
  const trial: DecodeContext = {
    report: ({ code, fix }) => {
      if ((code.startsWith('GW1') && fix === undefined) || code.startsWith('GW3')) sound = false
    },
    cel: ctx.cel,
    patterns: ctx.patterns,
    missing: new Set(),
    trial: true,
    ...(ctx.dropsNulls === undefined ? {} : { dropsNulls: ctx.dropsNulls }),
  }
  decodeNode(node.fields[name]!.schema.node, item, [...path, name], trial)
  return sound
}

/** YAML parses `tls:{sni: x}` and `tls {sni: x}` as a key that ends at the second colon. */
function tornField(key: string, node: ObjectNode): string | undefined {
  const [, name = '', between = '', bracket = ''] = /^([\w.-]+)(:| +)([{[])/.exec(key) ?? []
  if (!node.index().spelt.has(name)) return undefined
  const missing = between === ':' ? 'a space is missing after the colon' : 'a colon is missing'
  return `${missing}: write \`${name}: ${bracket}\``
}

function listed(free: readonly string[], node: ObjectNode): string {
  const fields = free.length > 0 ? free : Object.keys(node.fields)
  const shown = fields.slice(0, 12).map(f => `\`${f}\``)
  return fields.length === 0
    ? `${node.name} takes no fields`
    : `fields that can be set here: ${shown.join(', ')}${fields.length > 12 ? ', …' : ''}`
}

/** Maximum levels that a key may be indented too little. */
const MAX_STEPS = 3

/** Skips variants that are excluded by another one: `port` next to `host` does not belong in `service`. */
function openHome(node: ObjectNode, key: string, steps: number, present: ReadonlyMap<string, string>) {
  const place = home(node, key, steps)
  const [first = ''] = place?.split(/[.[]/) ?? []
  const excluded = node.exactlyOneOf.some(
    group => group.includes(first) && group.some(name => name !== first && present.has(name)),
  )
  return excluded ? undefined : place
}

/** Maximum levels that a key may be indented too much. */
const MAX_OUT = 2

/** An unset field of an enclosing object: the line is indented too far. */
function outerHome(key: string, { around = [] }: DecodeContext): string | undefined {
  const [root] = around
  const [outer] = around
    .slice(0, -1)
    .reverse()
    .slice(0, MAX_OUT)
    .filter(({ node, value }) => node.index().spelt.has(key) && !Object.hasOwn(value, key))
  if (outer) return `\`${key}\` is a field of ${outer.node.name}: indent it less`
  const [section, ...more] = Object.entries(root?.node.fields ?? {}).filter(
    ([, { schema }]) => schema.node.kind === 'object' && schema.node.index().spelt.has(key),
  )
  return section && more.length === 0 ? `\`${key}\` is a field of \`${section[0]}\`` : undefined
}

/** The path of the nearest nested object that would accept the key. */
function home(node: ObjectNode, key: string, steps: number): string | undefined {
  let objects: (readonly [path: string, node: ObjectNode])[] = [['', node]]
  for (let step = 0; step < steps; step++) {
    objects = objects.flatMap(([path, each]) =>
      Object.entries(each.fields).flatMap(([name, { schema }]) => {
        const inner = objectIn(schema.node)
        const mark = schema.node.kind === 'list' ? '[]' : ''
        return inner ? [[`${path === '' ? '' : `${path}.`}${name}${mark}`, inner] as const] : []
      }),
    )
    const found = objects.find(([, each]) => each.index().spelt.has(key))
    if (found) return found[0]
  }
  return undefined
}

export function objectIn(node: Node): ObjectNode | undefined {
  if (node.kind === 'object') return node
  if (node.kind === 'list') return node.item.node.kind === 'object' ? node.item.node : undefined
  return node.kind === 'shapes' && node.object ? objectIn(node.object.node) : undefined
}

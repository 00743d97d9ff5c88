import type { Path } from '../diagnostics/diagnostic.ts'
import { type Field, type FieldMode, type NamedField, type Node, type ObjectNode, regex } from './builder.ts'
import {
  concealing,
  type DecodeContext,
  type Enclosing,
  INVALID,
  isRecord,
  type LivePath,
  wrongType,
} from './decode-context.ts'
import { type Decode, Excuses, objectIn, reportUnknown } from './unknown-fields.ts'

const PATTERN = regex(true).node

export function decodeObject(
  node: ObjectNode,
  value: unknown,
  path: LivePath,
  ctx: DecodeContext,
  decodeNode: Decode,
): unknown {
  if (!isRecord(value)) return wrongType(node, value, path, ctx)
  const enclosing: Enclosing = { node, value, moved: undefined }
  ctx.around?.push(enclosing)
  const decoded = decodeFields(node, value, path, ctx, decodeNode, enclosing)
  ctx.around?.pop()
  return decoded
}

/* long: one pass over the fields, in the order in which they are reported. */
function decodeFields(
  node: ObjectNode,
  value: Readonly<Record<string, unknown>>,
  path: LivePath,
  ctx: DecodeContext,
  decodeNode: Decode,
  enclosing: Enclosing,
): unknown {
  const present = new Map<string, string>()
  const places: number[] = []
  let unknown: string[] | undefined
  let empty: string[] | undefined
  let sound = true
  const { list, expected, spelt } = node.index()
  for (const key of Object.keys(value)) {
    const known = spelt.get(key)
    if (known === undefined) unknown = appended(unknown, key)
    else if (value[key] === null && !takesNull(known.field)) {
      if (!ctx.dropsNulls && needsValue(node, known)) empty = appended(empty, key)
    } else if (!present.has(known.name)) {
      present.set(known.name, key)
      places.push(known.at)
    } else sound = conflict([present.get(known.name)!, key], 'they are two spellings of one field', path, ctx)
  }
  let disputed: Set<string> | undefined
  for (const { keys, why } of conflictsIn(node, present)) {
    sound = conflict(keys, why, path, ctx)
    disputed ??= new Set()
    for (const key of keys) disputed.add(key)
  }
  const excuse =
    node.open || !unknown
      ? new Excuses()
      : reportUnknown(node, unknown, value, present, path, ctx, decodeNode, enclosing)
  if (unknown && !node.open && !node.isolate) sound = false
  if (empty) for (const key of empty) sound = reportEmpty(node, key, path, excuse, ctx)

  // Few of an object's many fields are usually set.
  for (const { name, at } of expected) if (!present.has(name)) places.push(at)
  if (places.length > 1) places.sort((a, b) => a - b)
  const out: Record<string, unknown> = {}
  const secret = node.secretField?.where(value) ? node.secretField.name : undefined
  ctx.paths?.set(out, [...path])
  for (const place of places) {
    const { name, field } = list[place]!
    const key = present.get(name)
    if (key === undefined) {
      if (field.mode === 'required' && !excuse.take(name) && !isElsewhere(name, node, value, ctx)) {
        sound = reportMissing(node, name, path, ctx)
      } else if (field.mode === 'required') sound = false
      else if (field.mode === 'default')
        out[name] = inside(field.schema.node, field.default, name, path, ctx, decodeNode)
      continue
    }
    const below = disputed?.has(key) ? ctx : contextIn(field, name, key, path, ctx)
    const decoded = inside(
      field.schema.node,
      value[key],
      key,
      path,
      secret === key ? concealing(field.schema.node, below) : below,
      decodeNode,
    )
    if (decoded !== INVALID) out[name] = decoded
    else if (!node.isolate || field.mode === 'required') sound = false
    else if (field.mode === 'default') out[name] = inside(field.schema.node, field.default, name, path, ctx, decodeNode)
  }
  if (node.open && unknown) for (const key of unknown) out[key] = value[key]
  if (!groupsHold(node, present, excuse, path, ctx)) sound = false
  if (node.patternFields?.where(out)) {
    for (const name of node.patternFields.names) {
      const text = out[name]
      if (text !== undefined && inside(PATTERN, text, present.get(name) ?? name, path, ctx, decodeNode) === INVALID)
        sound = false
    }
  }
  if (sound && node.check) sound = checkHolds(node, out, value, path, ctx)
  return sound ? out : INVALID
}

/** Allocates lazily: most lists of keys stay empty. */
function appended(list: string[] | undefined, key: string): string[] {
  if (list === undefined) return [key]
  list.push(key)
  return list
}

function inside(
  node: Node,
  item: unknown,
  step: string,
  path: LivePath,
  ctx: DecodeContext,
  decodeNode: Decode,
): unknown {
  path.push(step)
  const decoded = decodeNode(node, item, path, ctx)
  path.pop()
  return decoded
}

function takesNull(field: Field<unknown, FieldMode>): boolean {
  let node: Node = field.schema.node
  if (node.kind === 'lazy') node = node.get().node
  return (
    field.mode === 'required' ||
    node.kind === 'null' ||
    node.kind === 'json' ||
    (node.kind === 'shapes' && node.null !== undefined)
  )
}

/** Indented one or two levels too little, which was reported already, or too much, which will be. */
function isElsewhere(
  name: string,
  node: ObjectNode,
  value: Readonly<Record<string, unknown>>,
  { around = [] }: DecodeContext,
): boolean {
  if (around.some(({ moved }) => moved?.has(name))) return true
  return Object.entries(value).some(([key, inner]) => {
    const at = node.index().spelt.get(key)
    const below = at && objectIn(at.field.schema.node)
    if (!below || below.open || below.index().spelt.has(name)) return false
    return (Array.isArray(inner) ? inner : [inner]).some(each => isRecord(each) && Object.hasOwn(each, name))
  })
}

function reportMissing(node: ObjectNode, name: string, path: Path, ctx: DecodeContext): false {
  const field = node.fields[name]!
  ctx.report({
    code: 'GW103',
    message: `${node.name} lacks the required field \`${name}\``,
    path: [...path, name],
    at: 'parent',
    label: `\`${name}\` is missing`,
    help: `${name}: ${field.doc}`,
  })
  return false
}

/** Where the absence of a key has a meaning of its own, a key without a value was left unfinished. */
function needsValue(node: ObjectNode, { name, field }: NamedField): boolean {
  if (field.mode === 'default') return true
  return [...node.exactlyOneOf, ...node.atLeastOneOf].some(group => group.includes(name))
}

function reportEmpty(node: ObjectNode, key: string, path: Path, excuse: Excuses, ctx: DecodeContext): false {
  const { name, field } = node.index().spelt.get(key)!
  const written = JSON.stringify(field.default)
  ctx.report({
    code: 'GW113',
    message: `\`${key}\` has no value`,
    path: [...path, key],
    at: 'key',
    label: 'a value is missing',
    help:
      field.mode === 'default'
        ? `remove the key (it then means \`${written}\`), or write \`${key}: ${written}\``
        : `${name}: ${field.doc}`,
  })
  excuse.name([name])
  return false
}

function contextIn(field: Field<unknown, FieldMode>, name: string, key: string, path: Path, ctx: DecodeContext) {
  return field.unserved === undefined ? ctx : unserved(name, field.unserved, [...path, key], ctx)
}

/** Reports that a field is not served, once for it and everything nested in it. */
function unserved(name: string, why: string, path: Path, ctx: DecodeContext): DecodeContext {
  ctx.report({
    code: 'GW601',
    message: `\`${name}\` is valid but not served yet`,
    path,
    at: 'key',
    label: 'gwctl run refuses to start with this',
    note: why,
  })
  return {
    ...ctx,
    report: finding => {
      if (finding.code !== 'GW601') ctx.report(finding)
    },
  }
}

/** Mutually exclusive keys, in document order; each key counts in at most one conflict. */
function conflictsIn(
  node: ObjectNode,
  present: ReadonlyMap<string, string>,
): { readonly keys: readonly string[]; readonly why: string }[] {
  if (present.size < 2 || node.exactlyOneOf.length + node.atMostOneOf.length === 0) return []
  const out: { keys: string[]; why: string }[] = []
  const disputed = new Set<string>()
  const look = (group: readonly string[], count: string) => {
    const keys: string[] = []
    for (const [name, key] of present) if (group.includes(name)) keys.push(key)
    if (keys.length < 2 || keys.some(key => disputed.has(key))) return
    for (const key of keys) disputed.add(key)
    out.push({ keys, why: `${node.name} takes ${count} of ${names(group)}` })
  }
  for (const group of node.exactlyOneOf) look(group, 'exactly one')
  for (const group of node.atMostOneOf) look(group, 'at most one')
  return out
}

function groupsHold(
  node: ObjectNode,
  present: ReadonlyMap<string, string>,
  excuse: Excuses,
  path: Path,
  ctx: DecodeContext,
): boolean {
  let hold = true
  const lacking = (group: readonly string[]) => !group.some(name => present.has(name))
  for (const group of node.exactlyOneOf) {
    if (!lacking(group)) continue
    hold = false
    if (!group.some(name => excuse.take(name))) reportNone(node, group, path, ctx, 'exactly')
  }
  for (const group of node.atLeastOneOf) {
    if (!lacking(group)) continue
    hold = false
    if (!group.some(name => excuse.take(name))) reportNone(node, group, path, ctx, 'at least')
  }
  return hold
}

function reportNone(
  node: ObjectNode,
  group: readonly string[],
  path: Path,
  ctx: DecodeContext,
  count: 'exactly' | 'at least',
): void {
  ctx.report({
    code: 'GW107',
    message: `${node.name} needs ${group.length === 1 ? '' : `${count} one of `}${names(group)}, and has none`,
    path: [...path, group[0]!],
    at: 'parent',
    label: group.length === 1 ? `set ${names(group)}` : `set one of ${names(group)}`,
  })
}

function conflict(keys: readonly string[], why: string, path: Path, ctx: DecodeContext): false {
  const [first, ...rest] = keys
  ctx.report({
    code: 'GW108',
    message: `${names(keys)} are set together: ${why}`,
    path: [...path, rest.at(-1)!],
    at: 'key',
    label: 'remove one of them',
    related: [{ path: [...path, first!], at: 'key', message: `\`${first}\` is set here` }],
  })
  return false
}

function checkHolds(
  node: ObjectNode,
  value: Record<string, unknown>,
  written: Readonly<Record<string, unknown>>,
  path: Path,
  ctx: DecodeContext,
): boolean {
  const problems = node.check!(value)
  for (const { path: inner, at, code = 'GW111', suggestion: _, ...problem } of problems) {
    if (code === 'GW103' && inner.length === 1 && isElsewhere(String(inner[0]), node, written, ctx)) continue
    // A finding on the object itself is attached to its key: `parent` removes the extra step.
    ctx.report({ code, path: [...path, ...inner, ...(at === 'parent' ? [''] : [])], at, ...problem })
  }
  return problems.length === 0
}

function names(list: readonly string[]): string {
  return list.map(n => `\`${n}\``).join(', ')
}

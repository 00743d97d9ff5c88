import type { Rejection } from '../cel/expression.ts'
import type { Finding, Path } from '../diagnostics/diagnostic.ts'
import { closest } from '../diagnostics/suggest.ts'
import type { Node, ParsedNode, Problem, Schema, ShapesNode, Unique } from './builder.ts'
import { withoutSecrets } from './conceal-in-url.ts'
import {
  concealing,
  type DecodeContext,
  INVALID,
  type Invalid,
  isRecord,
  type LivePath,
  wrongType,
} from './decode-context.ts'
import { decodeObject } from './decode-object.ts'
import { didYouMeanOneOf, valuesMeant } from './meant.ts'
import { Placeholder } from './placeholder.ts'
import { objectIn } from './unknown-fields.ts'

export { type DecodeContext, INVALID } from './decode-context.ts'

/**
 * Decodes a value according to its declaration: validates it, fills in defaults, parses text. Each mistake yields one
 * finding, at the innermost invalid place.
 */
export function decode<T>(schema: Schema<T>, value: unknown, path: Path, ctx: DecodeContext): T | Invalid {
  const report: DecodeContext['report'] = finding => ctx.report({ ...finding, path: [...finding.path] })
  return decodeNode(schema.node, value, [...path], { ...ctx, report, around: [] }) as T | Invalid
}

function decodeNode(node: Node, value: unknown, path: LivePath, ctx: DecodeContext): unknown {
  switch (node.kind) {
    case 'json':
      return value instanceof Placeholder ? value.text : value
    case 'lazy':
      return decodeNode(node.get().node, value, path, ctx)
    case 'null':
      return value === null ? null : wrongType(node, value, path, ctx)
    case 'boolean':
      if (value instanceof Placeholder) return false
      return typeof value === 'boolean' ? value : wrongType(node, value, path, ctx)
    case 'string':
      return decodeString(node, value, path, ctx)
    case 'enum':
      return decodeEnum(node, value, path, ctx)
    case 'integer':
    case 'number':
      return decodeNumber(node, value, path, ctx)
    case 'list':
      return decodeList(node, value, path, ctx)
    case 'map':
      return decodeMap(node, value, path, ctx)
    case 'object':
      return decodeObject(node, value, path, ctx, decodeNode)
    case 'shapes':
      return decodeShapes(node, value, path, ctx)
    case 'parsed':
      return decodeParsed(node, value, path, ctx)
    case 'cel':
      return decodeCel(node, value, path, ctx)
    case 'regex':
      return decodeRegex(node, value, path, ctx)
  }
}

function decodeString(
  node: Extract<Node, { kind: 'string' }>,
  value: unknown,
  path: Path,
  ctx: DecodeContext,
): unknown {
  if (value instanceof Placeholder) return value.text
  if (typeof value !== 'string') return wrongType(node, value, path, ctx)
  if (value.length < node.min || value.length > node.max) {
    const limit =
      value.length < node.min
        ? node.min === 1
          ? 'must not be empty'
          : `must have at least ${node.min} characters`
        : `must have at most ${node.max} characters`
    const found = value === '' ? '' : `, found ${value.length}`
    ctx.report({ code: 'GW110', message: `the text ${limit}${found}`, path, at: 'value', label: limit })
    return INVALID
  }
  if (node.pattern && !node.pattern.test(value)) {
    const form = node.form ?? `match ${node.pattern.source}`
    const shown = node.secret ? withoutSecrets(value) : value
    ctx.report({
      code: 'GW106',
      message: node.secret === true ? `the value must be ${form}` : `\`${short(shown)}\` is not ${form}`,
      path,
      at: 'value',
      label: `must be ${form}`,
    })
    return INVALID
  }
  return value
}

function decodeEnum(node: Extract<Node, { kind: 'enum' }>, value: unknown, path: Path, ctx: DecodeContext): unknown {
  if (value instanceof Placeholder) return node.values[0]
  if (typeof value !== 'string') return wrongType(node, value, path, ctx)
  if (node.values.includes(value)) return value
  const alias = Object.hasOwn(node.aliases, value) ? node.aliases[value] : undefined
  if (alias !== undefined) return alias
  const known = valuesMeant(value, node.values)
  const near = known.length > 0 ? known : closest(value, node.values)
  const best = near.length === 1 && known.length === 0 ? near[0] : undefined
  const help = didYouMeanOneOf(near.slice(0, 3))
  ctx.report({
    code: 'GW104',
    message: `\`${short(value)}\` is not one of ${list(node.values)}`,
    path,
    at: 'value',
    label: 'not one of the accepted values',
    ...(help === undefined ? {} : { help }),
    ...(best === undefined
      ? {}
      : { fix: { title: `change to \`${best}\``, safe: false, replace: 'value' as const, with: best } }),
  })
  return INVALID
}

function decodeNumber(
  node: Extract<Node, { kind: 'number' | 'integer' }>,
  value: unknown,
  path: Path,
  ctx: DecodeContext,
): unknown {
  if (value instanceof Placeholder) return Number.isFinite(node.min) && node.min > 0 ? node.min : Math.min(1, node.max)
  if (typeof value !== 'number' || (node.kind === 'integer' && !Number.isInteger(value))) {
    return wrongType(node, value, path, ctx)
  }
  if (value < node.min || value > node.max) {
    const range = bounds(node.min, node.max)
    ctx.report({
      code: 'GW105',
      message: `${value} is out of range: must be ${range}`,
      path,
      at: 'value',
      label: `must be ${range}`,
      ...(node.min === 0 && node.max === 1 && value > 1 && value <= 100
        ? { help: `it is a fraction: \`${value / 100}\` for ${value} %` }
        : {}),
    })
    return INVALID
  }
  return value
}

function decodeList(
  node: Extract<Node, { kind: 'list' }>,
  value: unknown,
  path: LivePath,
  ctx: DecodeContext,
): unknown {
  if (!Array.isArray(value)) return wrongType(node, value, path, ctx)
  if (!countIsRight(value.length, node, 'items', path, ctx)) return INVALID
  const out: unknown[] = []
  let sound = true
  for (let i = 0; i < value.length; i++) {
    path.push(i)
    const item = ctx.known?.get(value[i]) ?? decodeNode(node.item.node, value[i], path, ctx)
    path.pop()
    if (item !== INVALID) out.push(item)
    else if (!node.isolate) sound = false
  }
  ctx.paths?.set(out, [...path])
  if (node.unique && repeats(node.unique, value, path, ctx)) return INVALID
  return sound ? out : INVALID
}

function repeats(unique: Unique, items: readonly unknown[], path: Path, ctx: DecodeContext): boolean {
  const first = new Map<string, number>()
  let found = false
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    if (unique !== true && !isRecord(item)) continue
    const key = JSON.stringify(unique === true ? item : unique.map(name => (item as Record<string, unknown>)[name]))
    const before = first.get(key)
    if (before === undefined) {
      first.set(key, i)
      continue
    }
    const field = unique === true || unique.length > 1 ? [] : unique
    const what = unique === true ? 'item' : unique.map(name => `\`${name}\``).join(' and ')
    ctx.report({
      code: 'GW114',
      message: `two items have the same ${what === 'item' ? 'value' : what}`,
      path: [...path, i, ...field],
      at: 'value',
      label: 'set a second time',
      related: [{ path: [...path, before, ...field], at: 'value', message: 'first set here' }],
    })
    found = true
  }
  return found
}

function decodeMap(node: Extract<Node, { kind: 'map' }>, value: unknown, path: LivePath, ctx: DecodeContext): unknown {
  if (!isRecord(value)) return wrongType(node, value, path, ctx)
  const keepsNulls = !ctx.dropsNulls || node.value.node.kind === 'json'
  const keys = Object.keys(value).filter(key => keepsNulls || value[key] !== null)
  if (!countIsRight(keys.length, node, 'entries', path, ctx)) return INVALID
  const out: Record<string, unknown> = Object.create(null)
  let sound = true
  for (const key of keys) {
    const problem = node.keys?.(key)
    if (problem) {
      ctx.report({ code: 'GW106', path: [...path, key], at: 'key', ...problem })
      if (node.isolate) continue
      sound = false
    }
    path.push(key)
    const below = node.secretKeys?.(key, value[key]) ? concealing(node.value.node, ctx) : ctx
    const item = decodeNode(node.value.node, value[key], path, below)
    path.pop()
    if (item !== INVALID) out[key] = item
    else if (!node.isolate) sound = false
  }
  ctx.paths?.set(out, [...path])
  return sound ? out : INVALID
}

function countIsRight(
  count: number,
  limit: { min: number; max: number },
  what: string,
  path: Path,
  ctx: DecodeContext,
): boolean {
  if (count >= limit.min && count <= limit.max) return true
  const range = bounds(limit.min, limit.max)
  ctx.report({
    code: 'GW109',
    message: `${count} ${what}: must be ${range}`,
    path,
    at: 'value',
    label: `must have ${range} ${what}`,
  })
  return false
}

function decodeShapes(node: ShapesNode, value: unknown, path: LivePath, ctx: DecodeContext): unknown {
  if (value instanceof Placeholder) {
    const scalar = node.string ?? node.number ?? node.boolean
    return scalar ? decodeNode(scalar.node, value, path, ctx) : wrongType(node, value, path, ctx)
  }
  const form = shapeFor(node, value)
  const inner = typeof value === 'string' && form === node.string ? beside(node, value, ctx) : ctx
  return form ? decodeNode(form.node, value, path, inner) : wrongType(node, value, path, ctx)
}

/** Accepts text and a map, and other text was meant as a field of the map: `authority: example.com`. */
function beside(node: ShapesNode, value: string, ctx: DecodeContext): DecodeContext {
  const object = node.object?.node
  if (node.string?.node.kind !== 'enum' || object?.kind !== 'object' || object.textMeans === undefined) return ctx
  const help = `write \`{${object.textMeans}: ${short(value)}}\``
  return { ...ctx, report: finding => ctx.report(finding.help === undefined ? { ...finding, help } : finding) }
}

function shapeFor(node: ShapesNode, value: unknown): Schema<unknown> | undefined {
  if (value === null) return node.null
  if (Array.isArray(value)) return node.list
  if (typeof value === 'object') return isItem(node, value) ? node.list : node.object
  if (typeof value === 'string') return node.string
  if (typeof value === 'number') return node.number
  return node.boolean
}

/** A map whose keys are all those of an item lacks the dash. */
function isItem({ list, object }: ShapesNode, value: object): boolean {
  const [item, map] = [list && objectIn(list.node), object && objectIn(object.node)]
  const keys = Object.keys(value)
  return (
    item !== undefined &&
    map !== undefined &&
    keys.length > 0 &&
    keys.every(key => item.index().spelt.has(key) && !map.index().spelt.has(key))
  )
}

function decodeParsed(node: ParsedNode, value: unknown, path: LivePath, ctx: DecodeContext): unknown {
  if (value instanceof Placeholder) return node.placeholder
  const base = decodeNode(node.base.node, value, path, quotable(node, value, ctx))
  if (base === INVALID) return INVALID
  const result = node.parse(base)
  if ('value' in result) return result.value
  const { suggestion, ...problem } = result.problem
  ctx.report({
    code: 'GW106',
    path,
    at: 'value',
    label: `expected ${node.form}`,
    ...problem,
    ...(suggestion === undefined
      ? {}
      : { fix: { title: `write ${suggestion}`, safe: false, replace: 'value' as const, with: suggestion } }),
  })
  return INVALID
}

/** Suggests quotes around a number only if the field would accept the text. */
function quotable(node: ParsedNode, value: unknown, ctx: DecodeContext): DecodeContext {
  if (node.base.node.kind !== 'string' || (typeof value !== 'number' && typeof value !== 'boolean')) return ctx
  const result = node.parse(String(value))
  if ('value' in result) return ctx
  const { help = `write ${node.form}, in quotes` } = result.problem
  return { ...ctx, report: ({ fix: _, ...finding }) => ctx.report({ ...finding, help }) }
}

function decodeCel(node: Extract<Node, { kind: 'cel' }>, value: unknown, path: Path, ctx: DecodeContext): unknown {
  if (value instanceof Placeholder) value = node.result === 'bool' ? 'true' : '"x"'
  if (typeof value !== 'string') return wrongType(node, value, path, ctx)
  if (value.length === 0 || value.length > node.max) {
    ctx.report({
      code: 'GW110',
      message: `an expression has 1 to ${node.max} characters, found ${value.length}`,
      path,
      at: 'value',
    })
    return INVALID
  }
  if (!ctx.cel) {
    ctx.missing.add('cel')
    return INVALID
  }
  const compiled = ctx.cel.compile(value, node.scope, node.result)
  if (!('problem' in compiled)) {
    if (compiled.doubt) ctx.report({ code: 'GW304', path, at: 'value', ...celProblem(compiled.doubt) })
    return compiled
  }
  // Header values and paths are unquoted in most other places.
  const literal = /^\/[\w./-]*$/.test(value)
    ? { help: `a string literal needs quotes inside an expression: '"${short(value)}"'` }
    : {}
  ctx.report({ ...celFinding(compiled, path), ...literal })
  return INVALID
}

/** A refused expression at its place. */
export function celFinding({ kind, problem }: Rejection, path: Path): Finding {
  return { code: CEL_CODES[kind], path, at: 'value', ...celProblem(problem) }
}

const CEL_CODES = { syntax: 'GW301', type: 'GW302', size: 'GW303' } as const

function celProblem({ suggestion: _, message, ...problem }: Problem) {
  return { ...problem, message: `CEL: ${message}` }
}

function decodeRegex(node: Extract<Node, { kind: 'regex' }>, value: unknown, path: Path, ctx: DecodeContext): unknown {
  if (value instanceof Placeholder) value = 'x'
  if (typeof value !== 'string') return wrongType(node, value, path, ctx)
  if (!ctx.patterns) {
    ctx.missing.add('patterns')
    return INVALID
  }
  const compiled = ctx.patterns.compile(value, node.anchored)
  if (!('problem' in compiled)) return compiled
  const { suggestion: _, ...problem } = compiled.problem
  ctx.report({ code: 'GW112', path, at: 'value', ...problem })
  return INVALID
}

function bounds(min: number, max: number): string {
  const low = Number.isFinite(min) && min !== Number.MIN_SAFE_INTEGER
  const high = Number.isFinite(max) && max !== Number.MAX_SAFE_INTEGER
  if (low && high) return `${min} to ${max}`
  return low ? `at least ${min}` : `at most ${max}`
}

function list(values: readonly string[]): string {
  return values.map(v => `\`${v}\``).join(', ')
}

function short(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

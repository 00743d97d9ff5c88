import type { CelCompiler, PatternCompiler } from '../cel/expression.ts'
import type { Finding, Path } from '../diagnostics/diagnostic.ts'
import type { FieldIndex, Node, ObjectNode } from './builder.ts'
import { describe, describeType, typeNames } from './describe.ts'
import { holdsSecret } from './holds-secret.ts'
import { Placeholder } from './placeholder.ts'

/** The result of `decode` for an invalid value; nothing is compiled from it. */
export const INVALID = Symbol('invalid')
export type Invalid = typeof INVALID

export interface DecodeContext {
  report(finding: Finding): void
  /** Records where each decoded object and list was written. */
  readonly paths?: WeakMap<object, Path>
  /** Absent until a first pass has met an expression or a pattern: the engines are loaded on demand. */
  readonly cel: CelCompiler | undefined
  readonly patterns: PatternCompiler | undefined
  /** The engines that a pass without them would have needed. */
  readonly missing: Set<'cel' | 'patterns'>
  /** Null means absent for every key, as in the Kubernetes API; otherwise not for one with a default. */
  readonly dropsNulls?: boolean
  /** The enclosing objects, outermost first, including the value itself. Not tracked for trials. */
  readonly around?: Enclosing[]
  /** Items of lists that are already decoded, by what was written. */
  readonly known?: ReadonlyMap<unknown, unknown>
  /** A trial decode, to see whether the value fits: no suggestions are made. */
  readonly trial?: boolean
}

export interface Enclosing {
  readonly node: ObjectNode
  readonly value: Readonly<Record<string, unknown>>
  /** Keys that belong in a nested object. */
  moved: Set<string> | undefined
}

/** For an expression that may be an unquoted credential: the usual error would quote it. */
export function concealing(node: Node, ctx: DecodeContext): DecodeContext {
  if (node.kind !== 'cel') return ctx
  const help = `a string literal needs quotes inside an expression: '"…"'`
  const report: DecodeContext['report'] = ({ code, path, at }) =>
    ctx.report({ code, path, message: 'CEL: this is not an expression that can be evaluated', help, ...(at && { at }) })
  return { ...ctx, report }
}

/** A single mutable array during the walk: most values are valid and never need their path. */
export type LivePath = (string | number)[]

export function wrongType(node: Node, value: unknown, path: Path, ctx: DecodeContext): Invalid {
  const wanted = typeNames(node)
  const secret = holdsSecret(node)
  ctx.report({
    code: 'GW101',
    message: `expected ${wanted}, found ${secret ? describeType(value) : describe(value)}`,
    path,
    at: 'value',
    label: `expected ${wanted}`,
    ...(quoteFix(node, value, secret) ??
      numberHelp(node, value) ??
      layoutHelp(wanted, value, secret, mapOf(node)?.index()) ??
      textHelp(node, value, secret) ??
      fieldsHelp(node, value)),
  })
  return INVALID
}

/**
 * A number or boolean in place of text is nearly always missing quotes. The source text is quoted: `1.10` is not the
 * text of the number it parses to.
 */
function quoteFix(node: Node, value: unknown, secret: boolean): Pick<Finding, 'help' | 'fix'> | undefined {
  if (node.kind !== 'string' || (typeof value !== 'number' && typeof value !== 'boolean')) return undefined
  // Machine-readable reports contain the text of a fix.
  if (secret) return { help: 'write it in quotes' }
  if (node.pattern && !node.pattern.test(String(value))) return { help: `write ${node.form ?? 'text'}, in quotes` }
  return { help: 'write it in quotes', fix: { title: 'quote the value', safe: true, replace: 'value' } }
}

/** A quoted number, such as a port. */
function numberHelp(node: Node, value: unknown): { readonly help: string } | undefined {
  if (typeof value !== 'string') return undefined
  const number = Number(value)
  const fits =
    node.kind === 'boolean'
      ? /^(?:true|false)$/.test(value)
      : (node.kind === 'integer' || node.kind === 'number') &&
        /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(value) &&
        (node.kind === 'number' || Number.isSafeInteger(number)) &&
        number >= node.min &&
        number <= node.max
  if (fits) return { help: `remove the quotes: \`${value}\`` }
  // `:8080`, `8080/tcp`, `50%`
  const [, digits = ''] = /^:?(\d{1,15})(?:%|\/(?:tcp|udp))?$/i.exec(value) ?? []
  const statuses = /^([1-5])xx$/i.exec(value)?.[1]
  if (node.kind === 'integer' && statuses !== undefined && node.max < 1000)
    return { help: `write each status: \`${statuses}00\`, \`${statuses}02\`, \`${statuses}03\`` }
  const within = node.kind === 'integer' && digits !== '' && Number(digits) >= node.min && Number(digits) <= node.max
  return within ? { help: `write the number alone: \`${Number(digits)}\`` } : undefined
}

/** Text in place of a map, where one field is nearly always meant: `path: /v1`. */
function textHelp(node: Node, value: unknown, secret: boolean): { readonly help: string } | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const object = mapOf(node)
  const means = object?.textMeans ?? (object?.fields.name?.mode === 'required' ? 'name' : undefined)
  if (means === undefined) return undefined
  const text = secret || String(value).length > 60 ? '…' : value
  // A URL is hardly meant as any other field.
  if (!/^(?:host|url)$/.test(means) && String(value).includes('://')) return undefined
  const [program, ...args] = means === 'cmd' && !secret ? String(value).trim().split(/\s+/) : []
  if (args.length > 0) return { help: `write \`{cmd: ${program}, args: [${args.join(', ')}]}\`` }
  return { help: `write \`{${means}: ${text}}\`` }
}

/** `cors: true`, which does not say what to allow. */
function fieldsHelp(node: Node, value: unknown): { readonly help: string } | undefined {
  const object = mapOf(node)
  if (object === undefined || typeof value === 'object') return undefined
  const [required] = Object.entries(object.fields).filter(([, { mode }]) => mode === 'required')
  const free = required === undefined && object.exactlyOneOf.length + object.atLeastOneOf.length === 0
  const names = Object.keys(object.fields).slice(0, 4)
  if (value === true && free) return { help: `write a map: \`{}\`, or with fields of it such as ${quoted(names)}` }
  return names.length === 0 ? undefined : { help: `write a map with fields of it: ${quoted(names)}` }
}

function quoted(names: readonly string[]): string {
  return names.map(name => `\`${name}\``).join(', ')
}

function mapOf(node: Node): ObjectNode | undefined {
  if (node.kind === 'parsed') return mapOf(node.base.node)
  const inner = node.kind === 'shapes' ? node.object?.node : node
  return inner?.kind === 'object' ? inner : undefined
}

/** A missing dash, colon or space changes the type that YAML parses. */
function layoutHelp(
  wanted: string,
  value: unknown,
  secret: boolean,
  fields?: FieldIndex,
): { readonly help: string } | undefined {
  if (wanted === 'a list' && isRecord(value))
    return { help: 'put `- ` before the first key of each item, or `[…]` around a map on one line' }
  if (wanted === 'a list' && value !== null) return { help: 'put it in brackets, or on the next line after `- `' }
  if (
    wanted === 'a map' &&
    Array.isArray(value) &&
    value.length > 0 &&
    value.every(each => isRecord(each) && 'name' in each)
  )
    return { help: 'write a map instead, with each `name` as the key' }
  if (wanted === 'a map' && Array.isArray(value)) {
    const [, name] = /^([\w.-]+)=/.exec(typeof value[0] === 'string' ? value[0] : '') ?? []
    if (name !== undefined) return { help: secret ? 'write a map instead' : `write a map instead: \`${name}: …\`` }
  }
  if (wanted === 'a map' && Array.isArray(value) && value.length > 0 && value.every(isRecord))
    return { help: 'remove the `- `: it takes one map' }
  if (wanted === 'a map' && Array.isArray(value) && fields) {
    const [only, ...more] = fields.expected.filter(({ field }) => field.mode === 'required')
    if (only?.field.schema.node.kind === 'list' && more.length === 0)
      return { help: `write a map with the list in \`${only.name}\`` }
  }
  if (wanted === 'text' && isRecord(value)) return { help: 'write it as text, in quotes' }
  if (wanted === 'text' && Array.isArray(value))
    return { help: 'it takes one value: for several, repeat the item that it stands in' }
  if (wanted !== 'a map' || typeof value !== 'string') return undefined
  const [, name, mark] = /^([\w.-]+)(:(?!\/\/)| +)\S/.exec(value) ?? []
  if (name === undefined || (mark !== ':' && !fields?.spelt.has(name))) return undefined
  const missing = mark === ':' ? 'a space is missing after the colon' : 'a colon is missing'
  return { help: secret ? missing : `${missing}: write \`${name}: …\`` }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Placeholder)
}

import { ipVersion } from '../../../http/ip-version.ts'
import { sampleOf } from './pattern-sample.ts'

/** The caller, as far as expressions read it. */
export interface Facts {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly keyMetadata?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  readonly method?: string
  readonly path?: string
  readonly source?: string
  /** MCP tool. */
  readonly tool?: string
}

/** A condition read from an expression: values that satisfy it, and values that do not. */
export interface Condition {
  readonly holds: Facts
  readonly fails: Facts
}

const REF = String.raw`(?:jwt|apiKey|request|source|mcp)(?:\.\w+|\[(?:"[^"]*"|'[^']*')\])+`
const TEXT = String.raw`(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')`
const VALUE = String.raw`(?:${TEXT}|-?\d+(?:\.\d+)?\b|true\b|false\b)`

interface Form {
  readonly pattern: RegExp
  /** The required and the forbidden value, from the groups of a match. */
  read(groups: readonly string[]): Reading | readonly Reading[]
}

const FORMS: readonly Form[] = [
  {
    pattern: new RegExp(`(${REF})\\s*(==|!=|<=|>=|<|>)\\s*(${VALUE})`, 'g'),
    read: ([ref, op, value]) => compared(ref, op, value),
  },
  {
    pattern: new RegExp(`(${VALUE})\\s*(==|!=)\\s*(${REF})`, 'g'),
    read: ([value, op, ref]) => compared(ref, op, value),
  },
  { pattern: new RegExp(`(${VALUE})\\s+in\\s+(${REF})`, 'g'), read: ([value, ref]) => member(ref, value) },
  {
    pattern: new RegExp(`(${REF})\\.exists\\(\\s*(\\w+)\\s*,\\s*\\2\\s*==\\s*(${VALUE})\\s*\\)`, 'g'),
    read: ([ref, , value]) => member(ref, value),
  },
  {
    pattern: new RegExp(`(${REF})\\s+in\\s+\\[([^\\]"']*(?:${TEXT}[^\\]"']*)*)\\]`, 'g'),
    read: ([ref, list = '']) => [...list.matchAll(VALUES)].map(([value]) => compared(ref, '==', value)),
  },
  {
    pattern: new RegExp(`(${REF})\\.(startsWith|endsWith|contains|matches)\\(\\s*(${TEXT})\\s*\\)`, 'g'),
    read: ([ref, how, text]) => resembling(ref, how, text),
  },
  {
    pattern: new RegExp(`has\\(\\s*(${REF})\\s*\\)`, 'g'),
    read: ([ref]) => ({ ref: ref ?? '', holds: 'x', fails: undefined }),
  },
]

const VALUES = new RegExp(VALUE, 'g')

/** Excludes function names. */
const MENTION = new RegExp(`(${REF})(?![\\w(])`, 'g')

interface Reading {
  readonly ref: string
  readonly holds: unknown
  /** Undefined for absence. */
  readonly fails: unknown
}

/** The conditions of an expression on the caller: comparisons and mere reads. Anything else is ignored. */
export function conditionsIn(expression: string): Condition[] {
  const compared = FORMS.flatMap(({ pattern, read }) =>
    [...expression.matchAll(pattern)].flatMap(([, ...parts]) => read(parts)),
  )
  const known = new Set(compared.map(({ ref }) => ref))
  const mentioned = [...expression.matchAll(MENTION)].flatMap(([, ref = '']) => {
    if (known.has(ref)) return []
    known.add(ref)
    return [{ ref, holds: 'x', fails: undefined }]
  })
  return [...compared, ...mentioned].flatMap(({ ref, holds, fails }) => {
    const made = factsFor(ref, holds)
    return made === undefined ? [] : [{ holds: made, fails: fails === undefined ? {} : (factsFor(ref, fails) ?? {}) }]
  })
}

/** Combines both; in a conflict the latter wins. */
export function bothFacts(a: Facts, b: Facts): Facts {
  const joined = <K extends 'claims' | 'keyMetadata' | 'headers'>(key: K) =>
    a[key] === undefined && b[key] === undefined ? {} : { [key]: { ...a[key], ...b[key] } }
  return { ...a, ...b, ...joined('claims'), ...joined('keyMetadata'), ...joined('headers') }
}

function compared(ref = '', op = '==', text = ''): Reading {
  const value = valueOfText(text)
  if (op === '==') return { ref, holds: value, fails: otherThan(value) }
  if (op === '!=') return { ref, holds: otherThan(value), fails: value }
  const number = Number(value)
  const [above, below] = [number + 1, number - 1]
  if (op === '<') return { ref, holds: below, fails: value }
  if (op === '<=') return { ref, holds: value, fails: above }
  return op === '>' ? { ref, holds: above, fails: value } : { ref, holds: value, fails: below }
}

function member(ref = '', text = ''): Reading {
  const value = valueOfText(text)
  return { ref, holds: [value], fails: [otherThan(value)] }
}

function resembling(ref = '', how = '', quoted = ''): Reading {
  const text = String(valueOfText(quoted))
  const holds =
    how === 'startsWith' ? `${text}x` : how === 'endsWith' ? `x${text}` : how === 'matches' ? sampleOf(text) : text
  return { ref, holds: holds ?? text, fails: 'other' }
}

function valueOfText(text: string): unknown {
  if (!/^["']/.test(text)) return JSON.parse(text)
  const inner = text.slice(1, -1)
  return inner.replaceAll(/\\(.)/g, '$1')
}

function otherThan(value: unknown): unknown {
  if (typeof value === 'boolean') return !value
  return typeof value === 'number' ? value + 1 : `not-${String(value)}`
}

/** Undefined for values that the client does not control. */
function factsFor(ref: string, value: unknown): Facts | undefined {
  const [root, ...path] = [...ref.matchAll(/(?:^|\.)(\w+)|\[["']([^"']*)["']\]/g)].map(
    ([, name, quoted]) => name ?? quoted ?? '',
  )
  const [first, second] = path
  if (root === 'jwt') return { claims: nested(path, value) }
  if (root === 'apiKey') return { keyMetadata: nested(path, value) }
  if (root === 'source') return first === 'address' ? { source: sourceOf(String(value)) } : undefined
  if (root === 'mcp') return first === 'tool' && second === 'name' ? { tool: String(value) } : undefined
  if (first === 'headers' && second !== undefined) return fieldFacts(second, String(value))
  if (first === 'method') return { method: methodOf(String(value)) }
  return first === 'path' && String(value).startsWith('/') ? { path: String(value) } : undefined
}

/** Undefined for what HTTP cannot transmit (RFC 9110 section 5). */
function fieldFacts(name: string, value: string): Facts | undefined {
  const sendable = /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
  return sendable ? { headers: { [name]: value } } : undefined
}

/** Any other value must be an address, too. */
function sourceOf(text: string): string {
  return ipVersion(text) === 0 ? '192.0.2.1' : text
}

function methodOf(text: string): string {
  if (/^[A-Z]+$/.test(text)) return text
  return text === 'not-GET' ? 'POST' : 'GET'
}

function nested([name, ...rest]: readonly string[], value: unknown): Record<string, unknown> {
  return name === undefined ? {} : { [name]: rest.length === 0 ? value : nested(rest, value) }
}

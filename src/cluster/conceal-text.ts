import { standalone } from '../config/standalone/standalone.ts'
import type { Path } from '../diagnostics/diagnostic.ts'
import { parseSource, type SourceDocument } from '../diagnostics/source.ts'
import { isCredentialHeader } from '../http/credential-names.ts'
import type { Schema } from '../schema/builder.ts'
import { holdsSecret, secretNames } from '../schema/holds-secret.ts'
import { type Conceal, redact } from '../schema/redact.ts'
import { classify } from './resources/classify.ts'
import type { Unrolled } from './resources/unroll.ts'

/** Masks a file's text for display: same length, with `*` for every character of a secret. */
export type ConcealText = (file: string, text: string) => string

/** `resources`: whether files may contain resources, whose declarations are slow to load. */
export async function textConcealer({ resources }: { readonly resources: boolean }): Promise<ConcealText> {
  const { unroll } = resources ? await import('./resources/unroll.ts') : {}
  const { KINDS = [] } = resources ? await import('./kinds/index.ts') : {}
  let declared: ReadonlySet<string> | undefined
  const isSecretName: IsSecretName = (name, value) => {
    declared ??= secretNames([standalone, ...KINDS.map(({ schema }) => schema)].map(({ node }) => node))
    // Policies use such names too, with rules below them.
    return declared.has(name) || (isCredentialHeader(name) && /^[^{[]/.test(value))
  }
  const named = (text: string, span: Span) => namedIn(text, span, isSecretName)
  return (file, text) => {
    const source = parseSource(file, text)
    const unrolled: Unrolled = { resources: [], diagnostics: [], skipped: [], refused: [], documents: 0 }
    unroll?.(file, source, unrolled)
    const files = source.documents.filter(document => classify(document) !== 'resource')
    const parts = [
      ...files.map(document => ({ document, schema: standalone, path: [], raw: document.value })),
      ...unrolled.resources.map(({ kind, ...part }) => ({ ...part, schema: kind.schema })),
    ]
    const spans = parts.flatMap(part =>
      concealedIn(part).flatMap(({ span, whole }) => (whole ? [span] : [...named(text, span)])),
    )
    // A document that cannot be parsed has no paths.
    if (source.documents.some(document => document.broken)) spans.push(...named(text, [0, text.length]))
    return starred(text, spans)
  }
}

/** `value`: the rest of the line after the name. */
type IsSecretName = (name: string, value: string) => boolean
type Span = readonly [start: number, end: number]

interface Part {
  readonly document: SourceDocument
  readonly schema: Schema<unknown>
  readonly path: Path
  readonly raw: unknown
}

const SECRET = '\0secret'
/** Undeclared content: names alone decide what may be secret. */
const UNKNOWN = '\0unknown'
/** An undeclared or mistyped scalar where no secret is declared: shown, so that the mistake is visible. */
const SHOWN = '\0shown'

function concealedIn({ document, schema, path: at, raw }: Part) {
  const mark: Conceal = (value, place) => {
    if (place === undefined || holdsSecret(place)) return SECRET
    return typeof value === 'object' ? UNKNOWN : SHOWN
  }
  return [...marked(redact(schema, raw, mark), at)].flatMap(({ path, mark }) => {
    const { range, related } = document.resolve({ code: 'GW102', message: '', path, at: 'value' })
    // An alias has two locations: its use and its anchor.
    return [range, ...related.map(place => place.range)].map(({ start, end }) => ({
      span: [start.offset, end.offset] as const,
      whole: mark === SECRET,
    }))
  })
}

function* marked(value: unknown, path: Path): Generator<{ readonly path: Path; readonly mark: string }> {
  if (value === UNKNOWN) yield { path, mark: UNKNOWN }
  const key = path.at(-1)
  // A misplaced credential is still a credential.
  if (value === SHOWN && typeof key === 'string' && isCredentialHeader(key)) yield { path, mark: SECRET }
  // If only part of it is secret, the location of that part is unknown.
  if (typeof value === 'string' && value.includes(SECRET)) yield { path, mark: SECRET }
  if (typeof value !== 'object' || value === null) return
  for (const [key, item] of Object.entries(value)) {
    yield* marked(item, [...path, Array.isArray(value) ? Number(key) : key])
  }
}

/** Values of keys with these names, and everything nested below such keys. */
function* namedIn(text: string, [start, end]: Span, isSecretName: IsSecretName): Generator<Span> {
  const part = text.slice(start, end)
  let done = 0
  for (const { index, 0: whole, 2: name } of part.matchAll(FLOW)) {
    const from = index + whole.length
    if (name === undefined || !isSecretName(name, part.slice(from, from + 1)) || from < done) continue
    done = flowEnd(part, from)
    yield [start + from, start + done]
  }
  let inside = -1
  for (const match of part.matchAll(LINE)) {
    const [whole, lead = '', , name, rest = ''] = match
    if (rest === '' && name === undefined) continue
    const secret = name !== undefined && isSecretName(name, rest)
    const depth = match.index === 0 ? columnOf(text, start) + lead.length : lead.length
    if (inside < 0 || depth <= inside) inside = secret ? depth : -1
    if (inside < 0) continue
    const to = start + match.index + whole.length
    yield [name === undefined ? start + match.index + lead.length : to - rest.length, to]
  }
}

/** A key between braces or commas. */
const FLOW = /[{,]\s*(["']?)([\w.-]+)\1\s*:\s*/g
/** The closing character of a value, by its first character. */
const CLOSING = new Map([
  ['"', '"'],
  ["'", "'"],
  ['[', ']'],
])
const PLAIN_END = /[,}\]\n]|$/

/** The end of a value in a flow map; an unterminated one ends with the text. */
function flowEnd(text: string, from: number): number {
  const closing = CLOSING.get(text.charAt(from))
  if (closing === undefined) return from + text.slice(from).search(PLAIN_END)
  const at = text.indexOf(closing, from + 1)
  return at < 0 ? text.length : at + 1
}
/** Indentation and dashes, a key, the rest. */
const LINE = /^([ \t]*(?:- +)*)(?:(["']?)([\w.-]+)\2[ \t]*:(?=\s|$))?[ \t]*(.*)$/gm

function columnOf(text: string, offset: number): number {
  return offset - (text.lastIndexOf('\n', offset - 1) + 1)
}

/** A reference to a variable discloses nothing. */
const VARIABLE = /^["']?\$(?:\{\w+\}|\w+)["']?$/

function starred(text: string, spans: readonly Span[]): string {
  let out = ''
  let done = 0
  for (const [start, end] of spans.toSorted((a, b) => a[0] - b[0])) {
    if (end <= done || VARIABLE.test(text.slice(start, end))) continue
    const from = Math.max(start, done)
    out += text.slice(done, from) + text.slice(from, end).replaceAll(/\S/g, '*')
    done = end
  }
  return out + text.slice(done)
}

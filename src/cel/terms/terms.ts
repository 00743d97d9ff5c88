/**
 * An expression as written, for static analysis: parentheses are dropped, and `request["path"]` is the same reference
 * as `request.path`.
 */
export type Term = Literal | Reference | Operation

export interface Literal {
  readonly kind: 'literal'
  readonly span: Span
  /** Integers as numbers. Undefined for bytes. */
  readonly value: string | number | boolean | null | undefined
}

export interface Reference {
  readonly kind: 'reference'
  readonly span: Span
  /** A variable and the keys accessed on it. Variables bound by macros are excluded. */
  readonly path: readonly string[]
}

interface Operation {
  readonly kind: 'operation'
  readonly span: Span
  /** An operator as written (`&&`, `?:`, `.?`), the name of a function or method, `-`, `list` or `map`. */
  readonly op: string
  /** The receiver of a method comes first. */
  readonly args: readonly Term[]
}

/** Offsets in the written text. */
type Span = readonly [start: number, end: number]

/** The term and everything in it, outermost first. */
export function* termsWithin(term: Term): Generator<Term> {
  yield term
  if (term.kind === 'operation') for (const each of term.args) yield* termsWithin(each)
}

/** The terms that must all be true for the term to be true. */
export function conjuncts(term: Term): readonly Term[] {
  return partsOf(term, '&&')
}

/** The operands of a chain of `&&` or `||`, however it is nested. */
export function partsOf(term: Term, op: '&&' | '||'): readonly Term[] {
  return term.kind === 'operation' && term.op === op ? term.args.flatMap(each => partsOf(each, op)) : [term]
}

/** A reference compared with a literal. */
export interface Comparison {
  readonly path: Reference['path']
  /** An operator, `in` for an item of a list, or a string method: `startsWith`, `endsWith`, `contains`, `matches`. */
  readonly op: string
  readonly literal: Literal
}

const MIRRORED: Readonly<Record<string, string>> = {
  '==': '==',
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}
const TEXT_METHODS = new Set(['startsWith', 'endsWith', 'contains', 'matches'])

/**
 * The comparisons made by the term itself: `200 < response.code` is `response.code > 200`, and each item of a list is
 * one.
 */
export function comparisonsOf(term: Term): readonly Comparison[] {
  if (term.kind !== 'operation') return []
  const { op, args } = term
  const [left, right, ...more] = args
  if (!left || !right || more.length > 0) return []
  if (op === 'in') {
    const items = left.kind === 'reference' && right.kind === 'operation' && right.op === 'list' ? right.args : []
    return items.flatMap(item => comparison(left, op, item))
  }
  if (TEXT_METHODS.has(op)) return comparison(left, op, right)
  if (!Object.hasOwn(MIRRORED, op)) return []
  return left.kind === 'reference' ? comparison(left, op, right) : comparison(right, MIRRORED[op] as string, left)
}

function comparison(named: Term, op: string, written: Term): Comparison[] {
  const literal = literalOf(written)
  return named.kind === 'reference' && literal ? [{ path: named.path, op, literal }] : []
}

/** A negative number is an operation in the text. */
function literalOf(term: Term): Literal | undefined {
  if (term.kind === 'literal') return term
  if (term.kind !== 'operation' || term.op !== '-') return undefined
  const [number] = term.args
  return number?.kind === 'literal' && typeof number.value === 'number'
    ? { kind: 'literal', span: term.span, value: -number.value }
    : undefined
}

/** Calls that tolerate absent values. */
const LENIENT = new Set([
  'has',
  'default',
  'coalesce',
  'or',
  'orValue',
  '.?',
  '[?]',
  'hasValue',
  'optMap',
  'optFlatMap',
])

/**
 * References that must be present for the term to be true, except those tested with `has`. Reading an absent value
 * fails the whole, unless another operand of `&&` or `||` decides.
 */
export function neededBy(term: Term): readonly Reference['path'][] {
  const asked = [...termsWithin(term)].flatMap(each => {
    const [path] = each.kind === 'operation' && each.op === 'has' ? each.args : []
    return path?.kind === 'reference' ? [path.path.slice(0, Math.max(1, path.path.length - 1))] : []
  })
  return needs(term, true).filter(path => !asked.some(container => container.every((name, at) => path[at] === name)))
}

/** If `wanted` is unset, for any outcome. */
function needs(term: Term, wanted?: boolean): readonly Reference['path'][] {
  if (term.kind === 'literal') return []
  if (term.kind === 'reference') return [term.path]
  const { op, args } = term
  if (op === '!') return args.flatMap(each => needs(each, wanted === undefined ? undefined : !wanted))
  if (op === '&&' || op === '||') {
    const all = args.map(each => needs(each, wanted))
    return wanted === (op === '&&') ? all.flat() : inEach(all)
  }
  if (op === '?:') return inEach(args.slice(1).map(each => needs(each, wanted)))
  return LENIENT.has(op) ? [] : args.flatMap(each => needs(each))
}

function inEach(all: readonly (readonly Reference['path'][])[]): readonly Reference['path'][] {
  const [first = [], ...others] = all
  const key = (path: Reference['path']) => path.join('\0')
  return first.filter(path => others.every(list => list.some(each => key(each) === key(path))))
}

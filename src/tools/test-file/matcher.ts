import { createPatternCompiler } from '../../cel/pattern.ts'
import type { ObjectProblem } from '../../schema/builder.ts'
import { sameJson } from '../dry-run/same-json.ts'

/** A value with several names, any of which matches. */
export class Names {
  readonly all: readonly string[]

  constructor(all: readonly string[]) {
    this.all = all
  }

  is(name: string): boolean {
    return this.all.some(each => each === name || each.endsWith(`/${name}`))
  }
}

/** A value that is compared but never shown. */
export class Hidden {
  readonly value: string

  constructor(value: string) {
    this.value = value
  }
}

/** A field that is not as expected. */
export interface Difference {
  /** Relative to the expected field; empty for the field itself. */
  readonly path: readonly (string | number)[]
  /** The expectation in words: `200`, `less than 1`, `a text with "x"`. */
  readonly expected: string
  /** Undefined if absent. */
  readonly actual: unknown
}

/** Compares with an expectation: a literal, an object of members, or matchers. */
export function compare(expected: unknown, actual: unknown, path: readonly (string | number)[] = []): Difference[] {
  if (isMatchers(expected)) {
    return Object.entries(expected).flatMap(([name, operand]) => MATCHERS[name]?.compare(operand, actual, path) ?? [])
  }
  if (isRecord(expected) && isRecord(plain(actual))) {
    const own = plain(actual) as Readonly<Record<string, unknown>>
    return Object.entries(expected).flatMap(([name, value]) =>
      compare(value, Object.hasOwn(own, name) ? own[name] : undefined, [...path, name]),
    )
  }
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length === actual.length) {
    return expected.flatMap((item, i) => compare(item, actual[i], [...path, i]))
  }
  return equals(expected, actual) ? [] : [{ path, expected: shown(expected), actual }]
}

/** The mistakes in an expectation. */
export function matcherProblems(expected: unknown, path: readonly (string | number)[] = []): ObjectProblem[] {
  if (Array.isArray(expected)) return expected.flatMap((item, i) => matcherProblems(item, [...path, i]))
  if (!isRecord(expected)) return []
  const known = Object.keys(expected).filter(name => Object.hasOwn(MATCHERS, name))
  if (known.length === 0) {
    return Object.entries(expected).flatMap(([name, value]) => matcherProblems(value, [...path, name]))
  }
  return Object.entries(expected).flatMap(([name, operand]): ObjectProblem[] => {
    const matcher = MATCHERS[name]
    if (matcher === undefined) {
      const message = `\`${name}\` is not a matcher, and \`${known[0]}\` beside it is one`
      const help = 'write `{equals: {...}}` for an object that has such members'
      return [{ code: 'GW102', message, help, path: [...path, name], at: 'key' }]
    }
    if (name === 'snapshot' && (path.length > 0 || Object.keys(expected).length > 1)) {
      const message = '`{snapshot: true}` stands for a whole field, with nothing beside it'
      return [{ message, path: [...path, name], at: 'key' }]
    }
    const problem = matcher.problem(operand)
    return problem === undefined ? [] : [{ path: [...path, name], at: 'value', ...problem }]
  })
}

/** The field is compared with its saved value. */
export function isSnapshot(expected: unknown): boolean {
  return isMatchers(expected) && 'snapshot' in expected
}

/** Matchers instead of a literal value. */
export function isMatchers(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    isRecord(value) && Object.keys(value).length > 0 && Object.keys(value).every(name => Object.hasOwn(MATCHERS, name))
  )
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Names) &&
    !(value instanceof Hidden)
  )
}

function plain(value: unknown): unknown {
  return value instanceof Hidden ? value.value : value
}

/** Text in a message may be expected as the number or boolean that it represents. */
function equals(expected: unknown, actual: unknown): boolean {
  if (actual instanceof Names) return typeof expected === 'string' && actual.is(expected)
  const value = plain(actual)
  if (value === undefined) return expected === null || expected === undefined
  if (typeof value === 'string' && (typeof expected === 'number' || typeof expected === 'boolean')) {
    return value === String(expected)
  }
  return sameJson(expected, value)
}

type Wrong = Pick<ObjectProblem, 'message'> & Partial<Pick<ObjectProblem, 'code' | 'help' | 'span'>>

interface Matcher {
  problem(operand: unknown): Wrong | undefined
  compare(operand: unknown, actual: unknown, path: readonly (string | number)[]): Difference[]
}

/** `holds`: whether the field satisfies the operand; `words`: its description. */
function matcher(
  problem: Matcher['problem'],
  holds: (operand: never, actual: unknown) => boolean,
  words: (operand: never) => string,
): Matcher {
  return {
    problem,
    compare: (operand, actual, path) =>
      holds(operand as never, actual) ? [] : [{ path, expected: words(operand as never), actual }],
  }
}

const anything = (): undefined => undefined
const number = (operand: unknown): Wrong | undefined =>
  typeof operand === 'number' ? undefined : { code: 'GW101', message: 'a number is compared with a number' }
const boolean = (operand: unknown): Wrong | undefined =>
  typeof operand === 'boolean' ? undefined : { code: 'GW101', message: '`absent` is true or false' }
const items = (operand: unknown): Wrong | undefined =>
  Array.isArray(operand) && operand.length > 0
    ? firstProblem(operand)
    : { code: 'GW101', message: '`any` takes a list of values' }
const texts = (operand: unknown): Wrong | undefined =>
  listOf(operand).every(each => typeof each === 'string')
    ? undefined
    : {
        code: 'GW101',
        message: 'text is looked for: quote it',
        help: '`include` and `exclude` look for items of a list',
      }

function pattern(operand: unknown): Wrong | undefined {
  if (typeof operand !== 'string') return { code: 'GW101', message: 'a pattern is text' }
  const compiled = createPatternCompiler().compile(operand, false)
  return 'problem' in compiled ? { code: 'GW112', ...compiled.problem } : undefined
}

function firstProblem(operand: unknown): Wrong | undefined {
  return matcherProblems(operand)[0]
}

function fits(operand: string, actual: unknown): boolean {
  const compiled = createPatternCompiler().compile(operand, false)
  return !('problem' in compiled) && namesOf(actual).some(text => compiled.test(text))
}

function namesOf(actual: unknown): readonly string[] {
  if (actual instanceof Names) return actual.all
  const value = plain(actual)
  return value === undefined || value === null ? [] : [typeof value === 'string' ? value : JSON.stringify(value)]
}

/** An absent field trivially lacks everything, but then the test may look in the wrong place. */
function isThere(actual: unknown): boolean {
  return actual !== undefined && actual !== null
}

function holdsText(text: string, actual: unknown): boolean {
  const value = plain(actual)
  if (Array.isArray(value)) return value.some(item => holdsText(text, item))
  return namesOf(actual).some(each => each.includes(text))
}

function holdsItem(item: unknown, actual: unknown): boolean {
  return Array.isArray(actual) && actual.some(each => compare(item, each).length === 0)
}

function numberIn(actual: unknown): number {
  const value = plain(actual)
  return typeof value === 'number'
    ? value
    : typeof value === 'string' && value.trim() !== ''
      ? Number(value)
      : Number.NaN
}

function sizeOf(actual: unknown): number | undefined {
  const value = plain(actual)
  if (typeof value === 'string' || Array.isArray(value)) return value.length
  return isRecord(value) ? Object.keys(value).length : undefined
}

const ordered = (words: string, holds: (a: number, b: number) => boolean): Matcher =>
  matcher(
    number,
    (limit: number, actual) => holds(numberIn(actual), limit),
    limit => `${words} ${limit}`,
  )

/** The matchers that can replace a literal value. */
const MATCHERS: Readonly<Record<string, Matcher>> = {
  equals: matcher(
    anything,
    (value: unknown, actual) => equals(value, actual),
    value => shown(value),
  ),
  not: matcher(
    firstProblem,
    (value: unknown, actual) => compare(value, actual).length > 0,
    value => `not ${shown(value)}`,
  ),
  any: matcher(
    items,
    (values: readonly unknown[], actual) => values.some(value => compare(value, actual).length === 0),
    (values: readonly unknown[]) => `one of ${values.map(shown).join(', ')}`,
  ),
  lt: ordered('less than', (a, b) => a < b),
  lte: ordered('at most', (a, b) => a <= b),
  gt: ordered('more than', (a, b) => a > b),
  gte: ordered('at least', (a, b) => a >= b),
  contains: matcher(
    texts,
    (operand: unknown, actual) => listOf(operand).every(text => holdsText(String(text), actual)),
    operand => `a text with ${listOf(operand).map(shown).join(' and ')}`,
  ),
  notContains: matcher(
    texts,
    (operand: unknown, actual) => isThere(actual) && listOf(operand).every(text => !holdsText(String(text), actual)),
    operand => `a text without ${listOf(operand).map(shown).join(' or ')}`,
  ),
  include: matcher(
    firstProblem,
    (operand: unknown, actual) => listOf(operand).every(item => holdsItem(item, actual)),
    operand => `a list with ${listOf(operand).map(shown).join(' and ')}`,
  ),
  exclude: matcher(
    firstProblem,
    (operand: unknown, actual) => Array.isArray(actual) && listOf(operand).every(item => !holdsItem(item, actual)),
    operand => `a list without ${listOf(operand).map(shown).join(' or ')}`,
  ),
  matches: matcher(pattern, fits, (source: string) => `a text that matches ${source}`),
  notMatches: matcher(
    pattern,
    (source: string, actual) => isThere(actual) && !fits(source, actual),
    (source: string) => `a text that does not match ${source}`,
  ),
  absent: matcher(
    boolean,
    (absent: boolean, actual) => (actual === undefined) === absent,
    (absent: boolean) => (absent ? 'nothing' : 'something'),
  ),
  // The comparison depends on the saved value.
  snapshot: {
    problem: operand => (operand === true ? undefined : { code: 'GW101', message: '`snapshot` is true' }),
    compare: () => [],
  },
  length: {
    problem: operand => firstProblem(operand),
    compare: (operand, actual, path) =>
      compare(operand, sizeOf(actual)).map(each => ({ path, expected: `a length of ${each.expected}`, actual })),
  },
}

function listOf(operand: unknown): readonly unknown[] {
  return Array.isArray(operand) ? operand : [operand]
}

/** A value in words, as short as possible. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value instanceof Hidden) return '<redacted>'
  if (value instanceof Names) return shown(value.all[0])
  if (isMatchers(value)) {
    return Object.entries(value)
      .map(
        ([name, operand]) =>
          MATCHERS[name]?.compare(operand, undefined, [])[0]?.expected ?? `${name} ${shown(operand)}`,
      )
      .join(', ')
  }
  const text = JSON.stringify(value, (_, item: unknown) =>
    item instanceof Hidden ? '<redacted>' : item instanceof Names ? item.all[0] : item,
  )
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}

const LONGEST = 200

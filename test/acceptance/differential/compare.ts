import type { ExpectedDifference } from './cases.ts'
import type { Answer, Recording } from './system.ts'

export interface Difference {
  /** `request name/field` */
  readonly at: string
  /** null: there is none. */
  readonly theirs: string | null
  readonly ours: string | null
}

/** Each side says how long it keeps its own connections, and when it answers. */
const OF_THE_CONNECTION = /^(connection|keep-alive|date): /i

/** The public system's recording beside ours, field by field. */
export function differences(theirs: Recording, ours: Recording, json = false): Difference[] {
  const before = flatten(theirs, json)
  const after = flatten(ours, json)
  const found: Difference[] = []
  for (const at of new Set([...before.keys(), ...after.keys()])) {
    const [one, other] = [before.get(at) ?? null, after.get(at) ?? null]
    if (one !== other && !follows(at)) found.push({ at, theirs: one, ours: other })
  }
  return found

  /** The length of a body that differs, and the parts of a call that only one of them has made. */
  function follows(at: string): boolean {
    const body = at.replace(/header content-length$/, 'body')
    if (body !== at && (json || before.get(body) !== after.get(body))) return true
    const call = at.replace(/(\/upstream \d+) .*$/, '$1 to')
    return call !== at && before.has(call) !== after.has(call)
  }
}

/** What is left when the expected ones are taken away, and the expectations that nothing fulfils. */
export function unexpected(found: readonly Difference[], expected: readonly ExpectedDifference[]) {
  const used = new Set<string>()
  const surprises = found.filter(({ at, ours }) => {
    const fitting = expected.flatMap(each =>
      [each.at].flat().map(pattern => ({ pattern, fits: matches(pattern, at) && each.ours === ours })),
    )
    for (const { pattern, fits } of fitting) if (fits) used.add(pattern)
    return !fitting.some(({ fits }) => fits)
  })
  const stale = expected.flatMap(each => [each.at].flat()).filter(pattern => !used.has(pattern))
  return { surprises, stale }
}

function matches(pattern: string, at: string): boolean {
  return pattern.startsWith('*/') ? at.slice(at.indexOf('/')) === pattern.slice(1) : pattern === at
}

function flatten({ replies, log, metrics }: Recording, json: boolean): Map<string, string> {
  const all = new Map<string, string>()
  for (const [name, answer] of Object.entries(replies))
    for (const [field, text] of fieldsOf(answer))
      all.set(`${name}/${field}`, json && field.endsWith('body') ? saidIn(text) : text)
  for (const [i, record] of (log ?? []).entries())
    for (const [field, text] of Object.entries(record)) all.set(`log ${i + 1}/${field}`, text)
  for (const line of metrics ?? []) all.set(`metrics/${line}`, 'present')
  return all
}

/** What a body says, whoever wrote it. */
function saidIn(body: string): string {
  try {
    return JSON.stringify(sorted(JSON.parse(body)))
  } catch {
    return body
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([name, each]) => each !== null && name !== 'created')
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, each]) => [name, sorted(each)]))
}

function* fieldsOf(answer: Answer): Generator<[string, string]> {
  yield ['status', String(answer.status)]
  yield ['body', answer.body]
  yield* headers(
    '',
    answer.headers.map(line => line.replace(/^[^:]*/, name => name.toLowerCase())),
  )
  for (const [i, call] of (answer.upstream ?? []).entries()) {
    yield [`upstream ${i + 1} to`, call.to]
    yield [`upstream ${i + 1} line`, call.line]
    yield [`upstream ${i + 1} body`, call.body]
    yield* headers(`upstream ${i + 1} `, call.headers)
  }
}

/** Fields of one name in order (in replies without regard to case); between names the order says nothing (RFC 9110 section 5.3). */
function headers(of: string, all: readonly string[]): Map<string, string> {
  const values = new Map<string, string>()
  for (const line of all) {
    if (OF_THE_CONNECTION.test(line)) continue
    const at = line.indexOf(': ')
    const name = `${of}header ${line.slice(0, at)}`
    const before = values.get(name)
    values.set(name, before === undefined ? line.slice(at + 2) : `${before} | ${line.slice(at + 2)}`)
  }
  return values
}

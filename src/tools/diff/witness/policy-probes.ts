import { policyNamed } from '../../../policies/index.ts'
import type { ProbeHints } from '../../../policies/policy.ts'
import type { DumpDocument, DumpPolicies, DumpRoute } from '../../config-dump/model.ts'
import { bothFacts, type Condition, conditionsIn, type Facts } from './conditions.ts'
import { askedBy, type Probe, withHeaders } from './probe.ts'

const MAX_CONDITIONS = 10
/** A limit that takes more calls to reach is not tried. */
const MAX_CALLS = 200
/** Enough for each of several backends to get some. */
const SHARE_CALLS = 24
/** A longer body is not sent. */
const MAX_BYTES = 8 * 1024 * 1024

type Fields = Readonly<Record<string, unknown>>

/** The policies that apply to a request on a route, as written. */
export type Specs = ReadonlyMap<string, readonly unknown[]>

export function specsAt(dump: DumpDocument, route: DumpRoute): Specs {
  const listener = dump.listeners.find(({ key }) => key === route.listener)
  const backend = (key: string) => dump.backends.find(each => each.key === key)?.spec
  const out = new Map<string, unknown[]>()
  const add = (name: string, spec: unknown) => void out.set(name, [...(out.get(name) ?? []), spec])
  for (const policies of [listener?.policies, route.policies, ...route.backends.map(use => use.policies)]) {
    for (const [name, each] of Object.entries((policies ?? {}) as Readonly<Record<string, DumpPolicies[string]>>))
      add(name, each.spec)
  }
  for (const use of route.backends) add('', backend(use.backend))
  return out
}

/** Possible callers: an anonymous one, and those that the policies' expressions and credentials distinguish. */
export function callersFor(specs: Specs): Facts[] {
  // The tool is not a property of the caller.
  const conditions = [...specs.values()].flatMap(conditionsOf).filter(({ holds }) => holds.tool === undefined)
  const unique = distinct(conditions).slice(0, MAX_CONDITIONS)
  const asked = new Set([...specs.keys()].map(name => policyNamed.get(name)?.asksFor))
  const withToken = asked.has('token') || unique.some(({ holds }) => holds.claims)
  // The keys themselves are secret.
  const keys = hintsIn(specs, ({ keys }) => keys).map(keyMetadata => ({ keyMetadata }))
  const known: Facts = { ...(withToken ? { claims: {} } : {}), ...(keys[0] ?? {}) }
  const people = callersOf(unique).map(facts => bothFacts(known, facts))
  return [
    {},
    ...(Object.keys(known).length > 0 ? [known] : []),
    ...people,
    ...keys,
    ...(withToken ? [{ headers: { authorization: 'Bearer no.such.token' } }] : []),
    ...(asked.has('password') ? [{ headers: { authorization: 'Basic bm9ib2R5Om5vYm9keQ==' } }] : []),
  ]
}

/** Whether policies depend on the caller. */
export function distinguishesCallers(specs: Specs): boolean {
  const conditions = [...specs.values()].flatMap(conditionsOf)
  return conditions.length > 0 || [...specs.keys()].some(name => policyNamed.get(name)?.asksFor !== undefined)
}

/**
 * Callers that satisfy all conditions, with each value that one of them allows; each condition alone; and all but one.
 */
function callersOf(conditions: readonly Condition[]): Facts[] {
  const all = conditions.map(({ holds }) => holds).reduce(bothFacts, {})
  return distinct([
    ...(conditions.length > 0 ? [all] : []),
    ...conditions.flatMap(({ holds, fails }) => [
      holds,
      bothFacts(all, holds),
      ...(conditions.length > 1 ? [bothFacts(all, fails)] : [fails]),
    ]),
  ])
}

function distinct<T>(items: readonly T[]): T[] {
  return [...new Map(items.map(item => [JSON.stringify(item), item])).values()]
}

/** The policies' hints for requests that they distinguish, without duplicates. */
function hintsIn<T>(specs: Specs, of: (hints: ProbeHints) => readonly T[] | undefined): T[] {
  return distinct([...specs].flatMap(([name, each]) => each.flatMap(spec => of(hintsOf(name, spec)) ?? [])))
}

function hintsOf(name: string, spec: unknown): ProbeHints {
  return policyNamed.get(name)?.probe?.(spec) ?? {}
}

/** Requests that get through, one to exercise each of the policies. */
export function policyProbes(probe: Probe, specs: Specs, backends: number): Probe[] {
  return [
    ...originsIn(specs).flatMap(origin => originProbes(probe, origin)),
    ...hintsIn(specs, ({ calls }) => calls)
      .filter(limit => limit > 0 && limit < MAX_CALLS)
      .map(limit => ({ ...probe, calls: limit + 1 })),
    ...(backends > 1 ? [{ ...probe, calls: SHARE_CALLS }] : []),
    ...hintsIn(specs, ({ delays }) => delays)
      .filter(ms => ms > 0)
      .map(ms => ({
        ...probe,
        upstream: { delay: ms + 1 },
        words: [...probe.words, `a backend that answers after ${ms + 1}ms`],
      })),
    ...hintsIn(specs, ({ bodies }) => bodies)
      .filter(bytes => bytes > 0 && bytes < MAX_BYTES)
      .map(bytes => withBody(probe, bytes + 1)),
    ...hintsIn(specs, ({ statuses }) => statuses).map(status => ({
      ...probe,
      upstream: { status },
      words: [...probe.words, `a backend that answers ${status}`],
    })),
  ]
}

function originProbes(probe: Probe, origin: string): Probe[] {
  const from = askedBy(probe, { headers: { origin } })
  const asked = { origin, 'access-control-request-method': probe.request.method }
  const preflight = { ...from.request, method: 'OPTIONS', headers: withHeaders(probe.request.headers, asked) }
  return [
    { ...from, request: { ...from.request, method: 'POST' } },
    { ...from, request: preflight, words: [...from.words, 'a preflight'] },
    from,
  ]
}

/** Allowed origins, and one that is not. */
function originsIn(specs: Specs): string[] {
  const asked = [...specs].some(([name, each]) => each.some(spec => hintsOf(name, spec).origins))
  if (!asked) return []
  const named = hintsIn(specs, ({ origins }) => origins).map(origin =>
    origin === '*' ? 'https://some.test' : origin.replace('*', 'some'),
  )
  return [...new Set([...named.slice(0, 6), 'https://other.test'])]
}

function withBody(probe: Probe, bytes: number): Probe {
  const request = { ...probe.request, method: 'POST', body: Buffer.alloc(bytes, 'x') }
  return { ...probe, request, words: [...probe.words, `a body of ${bytes} bytes`] }
}

/** The conditions on a request in the expressions of a policy. */
export function conditionsOf(specs: readonly unknown[]): Condition[] {
  return specs.flatMap(expressionsIn).flatMap(conditionsIn)
}

function expressionsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(expressionsIn)
  return isFields(value) ? Object.values(value).flatMap(expressionsIn) : []
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

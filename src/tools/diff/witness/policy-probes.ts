import { byteSize, parseDuration } from '../../../schema/scalars.ts'
import { Leaf, settle } from '../../../schema/settle.ts'
import type { DumpDocument, DumpPolicies, DumpRoute } from '../../dump/model.ts'
import { bothFacts, type Condition, conditionsIn, type Facts } from './conditions.ts'
import { askedBy, type Probe, withHeaders } from './probe.ts'

const MOST_CONDITIONS = 10
/** A limit that takes more calls to reach is not tried. */
const MOST_CALLS = 200
/** Enough that each of several backends gets some. */
const SHARE_CALLS = 24
/** A longer body is not sent. */
const MOST_BYTES = 8 * 1024 * 1024

type Fields = Readonly<Record<string, unknown>>

/** The policies that a request on a route meets, as they were written. */
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

/** Who might ask: nobody in particular, and whoever the expressions and credentials of the policies tell apart. */
export function callersFor(specs: Specs): Facts[] {
  // Which tool is called is not up to the caller.
  const conditions = [...specs.values()].flatMap(conditionsOf).filter(({ holds }) => holds.tool === undefined)
  const unique = distinct(conditions).slice(0, MOST_CONDITIONS)
  const withToken = specs.has('jwtAuth') || specs.has('mcpAuthentication') || unique.some(({ holds }) => holds.claims)
  const keys = keyFacts(specs)
  const known: Facts = { ...(withToken ? { claims: {} } : {}), ...(keys[0] ?? {}) }
  const people = peopleOf(unique).map(facts => bothFacts(known, facts))
  return [
    {},
    ...(Object.keys(known).length > 0 ? [known] : []),
    ...people,
    ...keys,
    ...(withToken ? [{ headers: { authorization: 'Bearer no.such.token' } }] : []),
    ...(specs.has('basicAuth') ? [{ headers: { authorization: 'Basic bm9ib2R5Om5vYm9keQ==' } }] : []),
  ]
}

/** Whether policies look at who asks. */
export function tellsCallersApart(specs: Specs): boolean {
  const conditions = [...specs.values()].flatMap(conditionsOf)
  return conditions.length > 0 || AUTHENTICATION.some(name => specs.has(name))
}

const AUTHENTICATION = ['jwtAuth', 'mcpAuthentication', 'apiKey', 'basicAuth', 'oidc', 'extAuthz', 'authorization']

/** All conditions hold, with each of the values that one of them allows; each alone does; each alone does not. */
function peopleOf(conditions: readonly Condition[]): Facts[] {
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

/** One caller for each key, by what is known of it; the keys themselves are secrets. */
function keyFacts(specs: Specs): Facts[] {
  return (specs.get('apiKey') ?? []).flatMap(spec => {
    const keys = isFields(spec) && Array.isArray(spec.keys) ? spec.keys : []
    return keys.map(key => ({ keyMetadata: isFields(key) && isFields(key.metadata) ? key.metadata : {} }))
  })
}

/** A request that gets through, made so that each of the policies has something to say about it. */
export function policyProbes(probe: Probe, specs: Specs, backends: number): Probe[] {
  return [
    ...originsIn(specs).flatMap(origin => originProbes(probe, origin)),
    ...limitsIn(specs).map(limit => ({ ...probe, calls: limit + 1 })),
    ...(backends > 1 ? [{ ...probe, calls: SHARE_CALLS }] : []),
    ...timeoutsIn(specs).map(ms => ({
      ...probe,
      upstream: { delay: ms + 1 },
      words: [...probe.words, `a backend that answers after ${ms + 1}ms`],
    })),
    ...bodySizesIn(specs).map(bytes => withBody(probe, bytes + 1)),
    ...(['retry', 'health'].some(name => specs.has(name))
      ? statusesIn(specs).map(status => ({
          ...probe,
          upstream: { status },
          words: [...probe.words, `a backend that answers ${status}`],
        }))
      : []),
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

function originsIn(specs: Specs): string[] {
  const written = ['cors', 'csrf']
    .flatMap(name => specs.get(name) ?? [])
    .flatMap(spec => {
      if (!isFields(spec)) return []
      return [spec.allowOrigins, spec.additionalOrigins].flatMap(list => (Array.isArray(list) ? list.map(String) : []))
    })
  const named = written.map(origin => (origin === '*' ? 'https://some.test' : origin.replace('*', 'some')))
  const asked = specs.has('cors') || specs.has('csrf')
  return asked ? [...new Set([...named.slice(0, 6), 'https://other.test'])] : []
}

/** So many calls each limit lets through. */
function limitsIn(specs: Specs): number[] {
  const limits = (specs.get('localRateLimit') ?? []).flatMap(spec => {
    const list = isFields(spec) ? spec.conditional : spec
    return Array.isArray(list) ? list.filter(isFields) : []
  })
  const sizes = limits.map(
    ({ maxTokens, requests, burst }) => (Number(maxTokens) || Number(requests) || 0) + (Number(burst) || 0),
  )
  return [...new Set(sizes)].filter(size => size > 0 && size < MOST_CALLS)
}

function timeoutsIn(specs: Specs): number[] {
  const written = [...specs.values()].flat().flatMap(spec => {
    return isFields(spec) ? [spec.requestTimeout, spec.backendRequestTimeout] : []
  })
  const times = written.map(text => (typeof text === 'string' ? (parseDuration(text) ?? 0) : 0))
  return [...new Set(times)].filter(ms => ms > 0)
}

function bodySizesIn(specs: Specs): number[] {
  const sizes = (specs.get('buffer') ?? []).map(spec => {
    const side = isFields(spec) && isFields(spec.request) ? spec.request : {}
    const settled = settle(byteSize, side.maxBytes ?? '2Mi')
    return settled instanceof Leaf ? Number(settled.key) : 0
  })
  return [...new Set(sizes)].filter(bytes => bytes > 0 && bytes < MOST_BYTES)
}

function withBody(probe: Probe, bytes: number): Probe {
  const request = { ...probe.request, method: 'POST', body: Buffer.alloc(bytes, 'x') }
  return { ...probe, request, words: [...probe.words, `a body of ${bytes} bytes`] }
}

function statusesIn(specs: Specs): number[] {
  const codes = (specs.get('retry') ?? []).flatMap(spec =>
    isFields(spec) && Array.isArray(spec.codes) ? spec.codes.map(Number) : [],
  )
  return [...new Set([...codes.slice(0, 4), 503])]
}

/** What the expressions in the specs of a policy say of a request. */
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

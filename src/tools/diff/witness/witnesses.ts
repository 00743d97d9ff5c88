import { createHash } from 'node:crypto'
import type { DumpDocument, DumpRoute } from '../../config-dump/model.ts'
import type { DryGateway } from '../../dry-run/dry-run.ts'
import type { Touched } from '../structure.ts'
import type { Facts } from './conditions.ts'
import { changedPolicies, type Decision, decisionOf, stoppedBy } from './decision.ts'
import { type OutcomeDifference, outcomeDifferences, type Result } from './outcome.ts'
import { callersFor, distinguishesCallers, policyProbes, specsAt } from './policy-probes.ts'
import { askedBy, canArrive, type Probe } from './probe.ts'
import { protocolProbes, toolsNamedBy } from './protocol-probes.ts'
import { boundaryProbes, entryProbes } from './route-probes.ts'
import { runProbe } from './run-probe.ts'

/** A request that two configurations handle differently, found by running it on both. */
export interface Witness {
  readonly probe: Probe
  /** Which of its calls, starting at 1. */
  readonly call: number
  readonly differences: readonly OutcomeDifference[]
  readonly before: Decision
  readonly after: Decision
  /** Number of other requests that differ in the same way. */
  readonly more: number
}

export interface WitnessSide {
  readonly dump: DumpDocument
  readonly gateway: DryGateway
  /** The routes to examine. */
  readonly routes: Touched
}

export interface WitnessLimits {
  /** Maximum number of requests, counting repetitions. */
  readonly requests: number
  progress(text: string): void
}

export interface Witnesses {
  readonly found: readonly Witness[]
  /** Requests run on both sides, counting repetitions. */
  readonly tried: number
  /** Routes skipped because of the limit. */
  readonly left: number
}

/** Minimum number of requests per route. */
const MIN_SHARE = 8

/** Number of admitted callers for which other changes are tried. */
const MAX_CALLERS = 4

/** Derives requests from the routes that may have changed, and finds those that show a difference. */
export async function findWitnesses(
  before: WitnessSide,
  after: WitnessSide,
  limits: WitnessLimits,
): Promise<Witnesses> {
  const search = new Search(before, after, limits.requests)
  const routes = alternately(touchedRoutes(before), touchedRoutes(after))
  const nameOf = ({ namespace, name }: DumpRoute) => `${namespace}/${name}`
  const left = new Set(routes.map(({ route }) => nameOf(route)))
  const all = left.size
  const share = Math.max(MIN_SHARE, Math.ceil(limits.requests / routes.length))
  for (const { side, route } of routes) {
    if (search.tried >= limits.requests) break
    limits.progress(`Trying requests: ${all - left.size} of ${all} routes`)
    await search.explore(side.dump, route, side.routes.get(route.key) ?? 'all', share)
    left.delete(nameOf(route))
  }
  return { found: search.witnesses(), tried: search.tried, left: left.size }
}

interface Visit {
  readonly side: WitnessSide
  readonly route: DumpRoute
}

function touchedRoutes(side: WitnessSide): readonly Visit[] {
  return side.dump.routes.filter(({ key }) => side.routes.has(key)).map(route => ({ side, route }))
}

/** If not all can be visited, both sides get their share. */
function alternately(before: readonly Visit[], after: readonly Visit[]): readonly Visit[] {
  const pairs = Array.from({ length: Math.max(before.length, after.length) }, (_, i) => [before[i], after[i]])
  return pairs.flat().filter(visit => visit !== undefined)
}

/** Runs recorded requests on both sides. */
export async function replayed(
  before: WitnessSide,
  after: WitnessSide,
  probes: AsyncIterable<Probe>,
): Promise<Witnesses> {
  const search = new Search(before, after)
  for await (const probe of probes) await search.attempt(probe)
  return { found: search.witnesses(), tried: search.tried, left: 0 }
}

class Search {
  readonly #before: WitnessSide
  readonly #after: WitnessSide
  readonly #known = new Map<string, Promise<boolean>>()
  readonly #found: Found[] = []
  readonly #told = new Map<string, Found>()
  #tried = 0
  readonly #most: number
  #until = Number.POSITIVE_INFINITY

  constructor(before: WitnessSide, after: WitnessSide, most = Number.POSITIVE_INFINITY) {
    this.#before = before
    this.#after = after
    this.#most = most
  }

  get tried(): number {
    return this.#tried
  }

  witnesses(): readonly Witness[] {
    return this.#found
  }

  /** Tries all callers, then other variations of a request by a caller that gets through. */
  async explore(dump: DumpDocument, route: DumpRoute, changed: ReadonlySet<string> | 'all', share: number) {
    this.#until = this.#tried + share
    const specs = specsAt(dump, route)
    const meant = changed === 'all' ? specs : new Map([...specs].filter(([name]) => changed.has(name)))
    const callers = callersFor(specs)
    const everybody = changed === 'all' || distinguishesCallers(meant)
    const tools = [...toolsNamedBy(specs), ...this.#toolsAcross(dump, route)]
    for (const entry of entryProbes(dump, route)) {
      const own = [...protocolProbes(entry, dump, route, { specs, tools }), entry]
      const passing = await this.#ask(own, callers, everybody)
      const [first = entry] = passing
      const backends = changed === 'all' ? route.backends.length : 1
      const varied = (passing.length === 0 ? [entry] : passing).flatMap(each => policyProbes(each, meant, backends))
      for (const probe of [...varied, ...(changed === 'all' ? boundaryProbes(first) : [])]) await this.attempt(probe)
    }
  }

  /** The tools that the other side's rules for the same route name: only one side may name a tool. */
  #toolsAcross(dump: DumpDocument, { key }: DumpRoute): string[] {
    const other = dump === this.#before.dump ? this.#after.dump : this.#before.dump
    const route = other.routes.find(each => each.key === key)
    return route === undefined ? [] : toolsNamedBy(specsAt(other, route))
  }

  /**
   * A sample of the requests that get through on both sides. `everybody`: run each caller's, because the difference may
   * be who gets through.
   */
  async #ask(probes: readonly Probe[], callers: readonly Facts[], everybody: boolean): Promise<readonly Probe[]> {
    const passing: Probe[] = []
    for (const caller of callers) {
      const passed: Probe[] = []
      for (const probe of probes) {
        const asked = askedBy(probe, caller)
        if (await this.attempt(asked)) passed.push(asked)
      }
      passing.push(...passed.slice(0, 1))
      if (passing.length > 0 && !everybody) break
    }
    return passing.slice(0, MAX_CALLERS)
  }

  /** Whether it gets through on both sides. Requests already run are not repeated. */
  attempt(probe: Probe): Promise<boolean> {
    if (!canArrive(probe.request)) return Promise.resolve(false)
    const key = keyOf(probe)
    const known = this.#known.get(key)
    if (known) return known
    if (this.#tried >= this.#until || this.#tried + probe.calls > this.#most) return Promise.resolve(false)
    this.#tried += probe.calls
    const made = this.#run(probe)
    this.#known.set(key, made)
    return made
  }

  async #run(probe: Probe): Promise<boolean> {
    const before = await runProbe(this.#before.gateway, probe, false)
    const after = await runProbe(this.#after.gateway, probe, false)
    const calls = Array.from({ length: Math.max(before.length, after.length) }, (_, i): Compared => {
      const [left, right] = [resultAt(before, i), resultAt(after, i)]
      return { call: i + 1, left, right, differences: outcomeDifferences(left, right) }
    })
    // A difference in status is more telling than the first one found.
    const telling = calls.find(({ differences }) => differences.some(({ what }) => what === 'status'))
    const shown = telling ?? calls.find(({ differences }) => differences.length > 0)
    if (shown) await this.#keep(probe, shown)
    return passes(before) && passes(after)
  }

  async #keep(probe: Probe, compared: Compared): Promise<void> {
    const { call, left, right, differences } = compared
    const identity = (difference: OutcomeDifference) => identityOf(difference, left, right)
    const told = differences.map(each => this.#told.get(identity(each)))
    const fresh = differences.filter((_, i) => told[i] === undefined)
    if (fresh.length === 0) {
      if (told[0]) told[0].more++
      return
    }
    const witness: Found = { probe, call, differences: fresh, ...(await this.#decisions(probe, compared)), more: 0 }
    this.#found.push(witness)
    for (const each of fresh) this.#told.set(identity(each), witness)
  }

  /** What decided on each side, which takes a second, traced run. */
  async #decisions(probe: Probe, { call, left, right }: Compared): Promise<Pick<Witness, 'before' | 'after'>> {
    const changed = changedPolicies(routeOf(left, this.#before.dump), routeOf(right, this.#after.dump))
    const watched = this.#found.length < MAX_WATCHED
    const seen = async ({ gateway }: WitnessSide, result: Result) =>
      watched ? resultAt(await runProbe(gateway, probe, true), call - 1) : result
    const before = await seen(this.#before, left)
    const after = await seen(this.#after, right)
    const stops = [stoppedBy(before), stoppedBy(after)].filter(name => name !== undefined)
    // The other changed policies did not refuse anybody.
    const relevant = stops.length === 0 ? changed : new Set(stops.filter(name => changed.has(name)))
    return {
      before: decisionOf(before, this.#before.dump, relevant),
      after: decisionOf(after, this.#after.dump, relevant),
    }
  }
}

/** Tracing a request takes as long as trying every route. */
const MAX_WATCHED = 50

interface Compared {
  readonly call: number
  readonly left: Result
  readonly right: Result
  readonly differences: readonly OutcomeDifference[]
}

type Found = { -readonly [K in keyof Witness]: Witness[K] }

function routeOf(result: Result, { routes }: DumpDocument): DumpRoute | undefined {
  return 'refused' in result ? undefined : routes.find(({ key }) => key === result.route)
}

/** Identifies equal differences of different requests. */
function identityOf({ what, before, after }: OutcomeDifference, left: Result, right: Result): string {
  const hosts = (text: string) => text.replaceAll(/(:\/\/[^/]*)[^,]*/g, '$1')
  const values = what.endsWith('body') ? [] : [hosts(before), hosts(after)]
  const story = (result: Result) => {
    if ('refused' in result) return result.refused
    return what === 'status' ? [result.route, result.reason] : result.route
  }
  return JSON.stringify([what, values, story(left), story(right)])
}

function keyOf({ words: _, request: { body, ...request }, ...rest }: Probe): string {
  const hash = createHash('sha1').update(JSON.stringify([request, rest]))
  return hash.update(body ?? '').digest('base64')
}

/** A port that rejects the first call rejects the others too. */
function resultAt(results: readonly Result[], call: number): Result {
  return results[Math.min(call, results.length - 1)] as Result
}

function passes([first]: readonly Result[]): boolean {
  return first !== undefined && !('refused' in first) && first.status !== undefined && first.status < 400
}

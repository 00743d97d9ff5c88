// Load balancing over the endpoints of a service.
import type { Exchange } from '../http/exchange.ts'
import { tagOf } from '../http/facts/pinned-session.ts'
import type { UpstreamSettings } from '../policies/policy.ts'
import type { Clock } from '../runtime/runtime.ts'
import { EndpointHealth, type HealthFacts } from './endpoint-health.ts'

export interface Endpoint {
  /** `ip:port`. */
  readonly name: string
  /** Its share of the load, above 0. */
  readonly capacity: number
}

interface Member<E> {
  readonly endpoint: E
  readonly health: EndpointHealth
}

/** The endpoints of one backend. `healthOf` returns the existing health record of each. */
export class EndpointSet<E extends Endpoint> {
  readonly #members: readonly Member<E>[]
  /** For sessions; made when there is one. */
  #tags: ReadonlyMap<string, Member<E>> | undefined

  constructor(endpoints: readonly E[], healthOf: (endpoint: string) => EndpointHealth = () => new EndpointHealth()) {
    this.#members = endpoints.map(endpoint => ({ endpoint, health: healthOf(endpoint.name) }))
  }

  /**
   * The better of two endpoints drawn by capacity; evicted ones only as a fallback. `affinity`: equal texts get the
   * same endpoint as long as it is healthy. `tag`: the endpoint of a session, likewise. Undefined without endpoints.
   */
  pick(random: () => number, now: number, affinity?: string, tag?: string): Member<E> | undefined {
    const kept = tag === undefined ? undefined : this.#tagged(tag)
    if (kept && !kept.health.evicted(now)) return kept
    const healthy = this.#members.some(m => m.health.evicted(now))
      ? this.#members.filter(m => !m.health.evicted(now))
      : this.#members
    const open = healthy.length > 0 ? healthy : this.#members
    if (open.length < 2) return open[0]
    if (affinity !== undefined) return closest(open, affinity)
    const first = draw(open, random, -1)
    const second = draw(open, random, first)
    const [one, other] = [open[first] as Member<E>, open[second] as Member<E>]
    return other.health.score > one.health.score ? other : one
  }

  #tagged(tag: string): Member<E> | undefined {
    this.#tags ??= new Map(this.#members.map(member => [tagOf(member.endpoint.name), member]))
    return this.#tags.get(tag)
  }

  facts(clock: Clock): HealthFacts[] {
    return this.#members.map(({ endpoint, health }) => health.facts(endpoint.name, clock))
  }
}

/** A random index, weighted by capacity; never `except`. */
function draw<E extends Endpoint>(members: readonly Member<E>[], random: () => number, except: number): number {
  let total = 0
  for (let i = 0; i < members.length; i++) if (i !== except) total += (members[i] as Member<E>).endpoint.capacity
  let at = random() * total
  let last = 0
  for (let i = 0; i < members.length; i++) {
    if (i === except) continue
    last = i
    at -= (members[i] as Member<E>).endpoint.capacity
    if (at < 0) return i
  }
  return last
}

/** Rendezvous hashing: if an endpoint goes away, only its own texts move. */
function closest<E extends Endpoint>(members: readonly Member<E>[], text: string): Member<E> {
  let best = members[0] as Member<E>
  let bestScore = -1
  for (const member of members) {
    const score = closeness(member.endpoint.name, text, member.endpoint.capacity)
    if (score > bestScore) {
      bestScore = score
      best = member
    }
  }
  return best
}

/** The affinity of a text to an endpoint: the endpoint with the highest value gets it. */
export function closeness(endpoint: string, text: string, capacity = 1): number {
  // Weighted: -capacity / ln(u) preserves the shares.
  return -capacity / Math.log(fraction(`${endpoint}\0${text}`))
}

/** The affinity text of a request, which decides its endpoint. Undefined for none. */
export function affinityOf({ affinity }: Pick<UpstreamSettings, 'affinity'>, x: Exchange): string | undefined {
  const outcome = affinity?.evaluate(x)
  return outcome?.ok && typeof outcome.value === 'string' ? outcome.value : undefined
}

/** Maps a text to a number in (0, 1), evenly distributed: FNV-1a with the finalizer of MurmurHash3. */
function fraction(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (((hash ^ (hash >>> 16)) >>> 0) + 0.5) / 0x1_0000_0000
}

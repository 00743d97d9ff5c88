import { ADDRCONFIG, type LookupAddress, lookup as systemLookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { GatewayError } from '../../http/errors.ts'
import { ipVersion } from '../../http/ip-version.ts'
import type { Target } from '../../http/transport.ts'
import type { Clock } from '../../runtime/runtime.ts'

export type LookupFamily = 'All' | 'Auto' | 'V4Preferred' | 'V4Only' | 'V6Only'
/** All addresses of a name, in the order to try them. Rejects with the system's error. */
export type Lookup = (name: string) => Promise<readonly LookupAddress[]>

export interface ResolverOptions {
  readonly clock: Clock
  readonly lookup?: Lookup
}

/** ms that a result is used without a refresh. The system's resolver reports no TTL. */
const FRESH = 10_000
/** ms that a stale result is used while a refresh is pending or failing. */
const USABLE = 60_000
/** Names may come from clients, so the cache is bounded. */
const MAX_NAMES = 1024

interface Answer {
  readonly addresses: readonly LookupAddress[]
  readonly at: number
  /** Connections so far: each one starts at another address. */
  used: number
}

/** Resolves names through the system, caches the results, and spreads connections over the addresses. */
export class Resolver {
  readonly #clock: Clock
  readonly #lookup: Lookup
  readonly #answers = new Map<string, Answer>()
  readonly #asking = new Map<string, Promise<Answer>>()
  #family: LookupFamily = 'Auto'

  constructor({ clock, lookup = askSystem }: ResolverOptions) {
    this.#clock = clock
    this.#lookup = lookup
  }

  set family(family: LookupFamily) {
    this.#family = family
    this.#answers.clear()
  }

  /** The lookup function for connections to `target`; rejects addresses that the target does not permit. */
  lookupFor({ permits }: Target): LookupFunction {
    return (name, options, done) => {
      this.addresses(name, permits).then(
        found => {
          if (options.all) done(null, [...found])
          else done(null, found[0]!.address, found[0]!.family)
        },
        // A connection to nowhere: the error becomes the socket's.
        (error: NodeJS.ErrnoException) => done(error, options.all ? [] : '', 0),
      )
    }
  }

  /** At least one address, in the order to try them; throws GatewayError or the system's error. */
  async addresses(name: string, permits?: (address: string) => boolean): Promise<readonly LookupAddress[]> {
    const answer = this.#known(name) ?? (await this.#ask(name))
    const allowed = permits ? answer.addresses.filter(({ address }) => permits(address)) : answer.addresses
    if (allowed.length === 0) throw new GatewayError('destinationRefused')
    return rotated(allowed, answer.used++)
  }

  #known(name: string): Answer | undefined {
    const answer = this.#answers.get(name)
    if (answer === undefined) return undefined
    const age = this.#clock.mono() - answer.at
    if (age >= USABLE) return undefined
    // Refreshed in the background; on failure the old result stays until it expires.
    if (age >= FRESH) this.#ask(name).catch(() => {})
    return answer
  }

  #ask(name: string): Promise<Answer> {
    const under = this.#asking.get(name)
    if (under) return under
    const asked = this.#lookup(name)
      .then(found => {
        const addresses = addressesOfFamily(found, this.#family)
        if (addresses.length === 0) throw Object.assign(new Error('no usable address'), { code: 'ENOTFOUND' })
        const answer = { addresses, at: this.#clock.mono(), used: this.#answers.get(name)?.used ?? 0 }
        this.#remember(name, answer)
        return answer
      })
      .finally(() => this.#asking.delete(name))
    this.#asking.set(name, asked)
    return asked
  }

  #remember(name: string, answer: Answer): void {
    this.#answers.delete(name)
    this.#answers.set(name, answer)
    if (this.#answers.size <= MAX_NAMES) return
    const [oldest] = this.#answers.keys()
    this.#answers.delete(oldest as string)
  }
}

/** Throws GatewayError for a literal address that the target does not permit: literals are never looked up. */
export function checkLiteral({ host, permits, unixPath }: Target): void {
  if (permits && unixPath === undefined && ipVersion(host) !== 0 && !permits(host)) {
    throw new GatewayError('destinationRefused')
  }
}

function askSystem(name: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    systemLookup(name, { all: true, order: 'verbatim', hints: ADDRCONFIG }, (error, addresses) => {
      if (error) reject(error)
      else resolve(addresses)
    })
  })
}

function addressesOfFamily(found: readonly LookupAddress[], family: LookupFamily): readonly LookupAddress[] {
  const of = (wanted: 4 | 6): LookupAddress[] => found.filter(address => address.family === wanted)
  if (family === 'V4Only') return of(4)
  if (family === 'V6Only') return of(6)
  return family === 'V4Preferred' ? [...of(4), ...of(6)] : found
}

/** Rotates each address family; the families keep their order. */
function rotated(addresses: readonly LookupAddress[], by: number): readonly LookupAddress[] {
  if (addresses.length === 1) return addresses
  const first = addresses[0]!.family
  const same = addresses.filter(({ family }) => family === first)
  const other = addresses.filter(({ family }) => family !== first)
  return [...turned(same, by), ...turned(other, by)]
}

function turned<T>(list: readonly T[], by: number): readonly T[] {
  const at = list.length === 0 ? 0 : by % list.length
  return at === 0 ? list : [...list.slice(at), ...list.slice(0, at)]
}

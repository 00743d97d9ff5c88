import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Resource } from '../../../cluster/resources/resource.ts'
import { nameOf, specOf } from '../../../cluster/translate/cluster-view.ts'
import { isFalse } from '../../../cluster/translate/status/conditions.ts'
import type { GatewayAddress } from '../../../cluster/translate/work.ts'
import { Failure } from '../../../diagnostics/failure.ts'
import { asFields, asItems, asText } from '../../../schema/untyped.ts'

export interface AddressOptions {
  /** `10.0.0.0/24`, `10.0.0.1-10.0.0.9`, or single addresses, comma-separated: each Gateway gets one of its own. */
  readonly pool?: string | undefined
  /** The published address of Gateways without one of their own. */
  readonly published?: string | undefined
}

/** ms before a failed listen is retried. */
const AGAIN = 10_000

/**
 * Assigns addresses to Gateways. An assigned address is kept, also across restarts, since it is in the Gateway's
 * status.
 */
export class Addresses {
  readonly #pool: Pool | undefined
  readonly #published: string
  readonly #given = new Map<string, string>()
  readonly #usable = new Map<string, { readonly usable: boolean; readonly at: number }>()
  /** Assign addresses; other replicas take them from the statuses. */
  leading = false

  /** Throws a Failure if the pool is malformed. */
  constructor({ pool, published }: AddressOptions) {
    this.#pool = pool === undefined ? undefined : new Pool(pool)
    this.#published = published ?? ownAddress()
  }

  /** Prepares `addressOf` for these Gateways. */
  async prepare(gateways: readonly Resource[]): Promise<void> {
    const known = new Set(gateways.map(nameOf))
    for (const name of this.#given.keys()) if (!known.has(name)) this.#given.delete(name)
    for (const gateway of gateways) {
      const [wanted] = asked(gateway)
      if (wanted !== undefined) await this.#probe(wanted)
    }
    if (!this.#pool) return
    const reserved = new Set(gateways.flatMap(asked))
    const taken = () => new Set([...reserved, ...this.#given.values()])
    const without = gateways.filter(gateway => asked(gateway).length === 0 && !this.#given.has(nameOf(gateway)))
    for (const gateway of without) {
      const held = publishedOf(gateway)
      if (held !== undefined && this.#pool.has(held) && !taken().has(held)) this.#given.set(nameOf(gateway), held)
    }
    if (!this.leading) return
    for (const gateway of without) {
      if (this.#given.has(nameOf(gateway))) continue
      const free = this.#pool.first(taken())
      if (free !== undefined) this.#given.set(nameOf(gateway), free)
    }
  }

  /** Whether its status is up to date. */
  agrees(gateway: Resource): boolean {
    return !this.#pool || publishedOf(gateway) === this.#given.get(nameOf(gateway))
  }

  readonly addressOf = (gateway: Resource): GatewayAddress => {
    const wanted = asked(gateway)
    const [first] = wanted
    if (wanted.length > 1 || asItems(specOf(gateway).addresses).some(({ type }) => type === 'Hostname')) {
      return refused('AddressNotUsable', 'only one address, of type IPAddress, is supported')
    }
    if (first !== undefined) {
      if (this.#usable.get(first)?.usable) return { listen: first, published: [first] }
      return refused('AddressNotUsable', `${first} is not an address of this machine`)
    }
    if (!this.#pool) return { listen: undefined, published: [this.#published] }
    const given = this.#given.get(nameOf(gateway))
    if (given !== undefined) return { listen: given, published: [given] }
    return refused('AddressNotAssigned', this.leading ? 'the pool of addresses is empty' : 'no address is given yet')
  }

  async #probe(address: string): Promise<void> {
    const known = this.#usable.get(address)
    if (known && (known.usable || performance.now() - known.at < AGAIN)) return
    this.#usable.set(address, { usable: await canListen(address), at: performance.now() })
  }
}

function refused(reason: string, message: string): GatewayAddress {
  return { listen: undefined, published: [], problem: isFalse('Programmed', reason, message) }
}

/** The addresses that a Gateway requests. */
function asked(gateway: Resource): string[] {
  return asItems(specOf(gateway).addresses).flatMap(({ type = 'IPAddress', value }) =>
    type === 'IPAddress' && asText(value) ? [String(value)] : [],
  )
}

function publishedOf({ raw }: Resource): string | undefined {
  return asText(asItems(asFields(raw.status)?.addresses)[0]?.value)
}

function canListen(host: string): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ host, port: 0 }, () => server.close(() => resolve(true)))
  })
}

/** The first address at which other machines can reach this one. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap(each => each ?? [])
  return all.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1'
}

class Pool {
  /** First and last address of each range, as numbers. */
  readonly #ranges: readonly (readonly [first: number, last: number])[]

  constructor(text: string) {
    this.#ranges = text.split(',').map(each => rangeOf(each.trim(), text))
  }

  has(address: string): boolean {
    const number = numberOf(address)
    return number !== undefined && this.#ranges.some(([first, last]) => number >= first && number <= last)
  }

  first(taken: ReadonlySet<string>): string | undefined {
    for (const [first, last] of this.#ranges) {
      for (let number = first; number <= last; number++) if (!taken.has(addressOf(number))) return addressOf(number)
    }
    return undefined
  }
}

function rangeOf(text: string, all: string): readonly [number, number] {
  const [start = '', end = start] = text.split('-')
  const [base = '', bits] = start.split('/')
  const first = numberOf(base)
  const last = numberOf(end.split('/')[0]!)
  if (first !== undefined && bits === undefined && last !== undefined && last >= first) return [first, last]
  const size = /^\d+$/.test(bits ?? '') && start === end ? 2 ** (32 - Number(bits)) : 0
  if (first !== undefined && size >= 1) {
    const network = first - (first % size)
    // The first and last address of a network are reserved.
    return size > 2 ? [network + 1, network + size - 2] : [network, network + size - 1]
  }
  throw new Failure('usage', `${all} is not a pool of addresses.`, {
    help: 'Write IPv4 addresses, ranges or networks with commas between: 10.0.0.0/24,10.0.1.5,10.0.2.1-10.0.2.9.',
  })
}

function numberOf(address: string): number | undefined {
  const parts = address
    .split('.')
    .map(part => (/^\d{1,3}$/.test(part) && Number(part) < 256 ? Number(part) : Number.NaN))
  if (parts.length !== 4 || parts.some(Number.isNaN)) return undefined
  return parts.reduce((number, part) => number * 256 + part, 0)
}

function addressOf(number: number): string {
  return [24, 16, 8, 0].map(shift => Math.floor(number / 2 ** shift) % 256).join('.')
}

import { type Fillings, filled, fills, type Place } from './place.ts'

/** Growth that counts as linear: a constant part and the caches of the processor bend the line a little. */
const EXPONENT = 1.35
/** ns: cheaper than this at the bound, nothing is measured well enough, or matters. */
const FLOOR = 8_000_000
const STEPS = [8, 16, 32, 64].map(k => k * 1024)

export interface Finding {
  readonly place: string
  readonly fill: string
  /** By size, ns. */
  readonly costs: ReadonlyMap<number, number>
  readonly exponent: number
}

export interface Searched {
  readonly measured: number
  readonly worst: { readonly fill: string; readonly perByte: number }
  readonly found: readonly Finding[]
}

/** Fills the place with everything; what looks as if it grew faster than its input is measured again, step by step. */
export async function searchPlace(place: Place, which: Fillings): Promise<Searched> {
  const base = await least(place, '', 3)
  const found: Finding[] = []
  let worst = { fill: '', perByte: 0 }
  const all = place.counts ? ['a'] : fills(which)
  for (const fill of all) {
    const large = (await least(place, filled(fill, place.bound), 1)) - base
    const perByte = large / place.bound
    if (large < FLOOR) {
      if (perByte > worst.perByte) worst = { fill, perByte }
      continue
    }
    const sizes = [...new Set([...STEPS.filter(size => size < place.bound), place.bound])]
    const costs = new Map<number, number>(sizes.map(size => [size, Number.POSITIVE_INFINITY]))
    // Whoever grows does so each time; the least of several rounds is what the machine has not added to.
    for (let round = 0; round < 3; round++) {
      for (const size of sizes) {
        const cost = Math.max(0, (await least(place, filled(fill, size), 3)) - base)
        costs.set(size, Math.min(cost, costs.get(size) as number))
      }
      if ((costs.get(place.bound) as number) < FLOOR || growth(costs) <= EXPONENT) break
    }
    const again = costs.get(place.bound) as number
    if (again / place.bound > worst.perByte) worst = { fill, perByte: again / place.bound }
    const exponent = growth(costs)
    if (again >= FLOOR && exponent > EXPONENT) found.push({ place: place.name, fill, costs, exponent })
  }
  return { measured: all.length, worst, found }
}

/** From the first size to the last, in powers of the size; what is too little to measure counts as a tenth of the floor. */
function growth(costs: ReadonlyMap<number, number>): number {
  const [[small, first] = [1, 1], ...rest] = [...costs]
  const [large, last] = rest.at(-1) ?? [small, first]
  return Math.log(last / Math.max(first, FLOOR / 10)) / Math.log(large / small)
}

/** What else the machine does can only add to a cost. */
async function least(place: Place, text: string, times: number): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < times; i++) best = Math.min(best, await place.cost(text))
  return best
}

import { type MetricFamily, sumFamilies } from '../metrics/families.ts'
import type { SharedSeries } from '../metrics/registry.ts'

type LiveFamily = MetricFamily & { readonly series: Map<string, Float64Array> }

/**
 * The workers' counters. They live in memory shared with the leading thread, so that a sum never decreases: a worker
 * that dies takes none of its counts with it.
 */
export class WorkerCounts {
  readonly #live = new Map<{ readonly ended: Promise<unknown> }, Map<string, LiveFamily>>()
  #departed: readonly MetricFamily[] = []

  add(worker: { readonly ended: Promise<unknown> }, { family, labels, values }: SharedSeries): void {
    let families = this.#live.get(worker)
    if (families === undefined) {
      families = new Map()
      this.#live.set(worker, families)
      void worker.ended.then(() => this.#keep(worker))
    }
    const known = families.get(family.name)
    if (known === undefined) families.set(family.name, { ...family, series: new Map([[labels, values]]) })
    else known.series.set(labels, values)
  }

  families(): readonly MetricFamily[] {
    const live = [...this.#live.values()].flatMap(families => [...families.values()])
    return sumFamilies([...this.#departed, ...live])
  }

  /** Keeps a worker's counts, but not its gauges. */
  #keep(worker: { readonly ended: Promise<unknown> }): void {
    const families = [...(this.#live.get(worker)?.values() ?? [])]
    this.#departed = sumFamilies([...this.#departed, ...families.filter(({ type }) => type !== 'gauge')])
    this.#live.delete(worker)
  }
}

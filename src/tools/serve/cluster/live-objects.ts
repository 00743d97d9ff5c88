import type { Engines } from '../../../cluster/resources/decode-resources.ts'
import { liveResource } from '../../../cluster/resources/live-resource.ts'
import { type LiveReading, readLive } from '../../../cluster/resources/read-live.ts'
import { labelOf, type Resource, type Written } from '../../../cluster/resources/resource.ts'
import { idOf } from '../../../cluster/translate/cluster-view.ts'
import { asFields, type Fields } from '../../../schema/untyped.ts'

export interface LiveObject extends LiveReading {
  readonly written: Written
  /** Only changes to the fingerprint count. */
  readonly fingerprint: string
}

/** All objects reported by the API server, with the changes since the last `settle`. */
export class LiveObjects {
  readonly #objects = new Map<string, LiveObject>()
  readonly #engines: Engines = {}
  #changed = new Set<string>()
  readonly #refused: (object: string, reasons: readonly string[]) => void

  /** `refused` is called for each object that has mistakes. */
  constructor(refused: (object: string, reasons: readonly string[]) => void = () => {}) {
    this.#refused = refused
  }

  /** `changed` is false if at most its status or version differ. */
  put(raw: Fields): { readonly id: string; readonly changed: boolean } | undefined {
    const written = liveResource(raw)
    if (!written || written.name === undefined) return undefined
    const id = idOf(written as Resource)
    const known = this.#objects.get(id)
    const fingerprint = fingerprintOf(raw)
    if (known?.fingerprint === fingerprint) {
      const resource = known.resource && { ...known.resource, raw }
      this.#objects.set(id, { ...known, written: { ...known.written, raw }, ...(resource ? { resource } : {}) })
      return { id, changed: false }
    }
    this.#objects.set(id, { written, fingerprint })
    this.#changed.add(id)
    return { id, changed: true }
  }

  remove(raw: Fields): void {
    const written = liveResource(raw)
    if (!written) return
    const id = idOf(written as Resource)
    if (this.#objects.delete(id)) this.#changed.add(id)
  }

  /** Replaces all objects of a kind. */
  replace(kind: string, all: readonly Fields[]): void {
    const kept = new Set(all.flatMap(raw => this.put(raw)?.id ?? []))
    for (const [id, { written }] of this.#objects) {
      if (written.kindName !== kind || kept.has(id)) continue
      this.#objects.delete(id)
      this.#changed.add(id)
    }
  }

  find(raw: Fields): (LiveObject & { readonly id: string }) | undefined {
    const written = liveResource(raw)
    const id = written && idOf(written as Resource)
    const object = id === undefined ? undefined : this.#objects.get(id)
    return object && { ...object, id: id! }
  }

  get(id: string): LiveObject | undefined {
    return this.#objects.get(id)
  }

  list(kind: string): Resource[] {
    return [...this.#objects.values()].flatMap(({ resource }) => (resource?.kind.kind === kind ? resource : []))
  }

  get isDirty(): boolean {
    return this.#changed.size > 0
  }

  /** Decodes all changed objects and returns their ids. */
  async settle(): Promise<ReadonlySet<string>> {
    const changed = this.#changed
    this.#changed = new Set()
    for (const id of changed) {
      const object = this.#objects.get(id)
      if (object && !object.resource) this.#objects.set(id, await this.#read(object))
    }
    return changed
  }

  /** Marks objects as changed again. */
  again(ids: Iterable<string>): void {
    for (const id of ids) this.#changed.add(id)
  }

  get resources(): Resource[] {
    return [...this.#objects.values()].flatMap(({ resource }) => resource ?? [])
  }

  get all(): Iterable<readonly [string, LiveObject]> {
    return this.#objects
  }

  get faults(): ReadonlyMap<Resource, readonly string[]> {
    const found = [...this.#objects.values()].filter(({ resource, faults }) => resource && faults)
    return new Map(found.map(({ resource, faults }) => [resource!, faults!]))
  }

  async #read(object: LiveObject): Promise<LiveObject> {
    const { written } = object
    const reading = await readLive(written, this.#engines)
    const reasons = reading.faults ?? reading.refused
    if (reasons) this.#refused(labelOf(written), reasons)
    return { ...object, ...reading }
  }
}

/** Written by the server or controllers; does not require compilation. */
const BOOKKEEPING: ReadonlySet<string> = new Set(['resourceVersion', 'managedFields', 'generation'])

function fingerprintOf({ status: _status, metadata, ...rest }: Fields): string {
  const kept = Object.entries(asFields(metadata) ?? {}).filter(([key]) => !BOOKKEEPING.has(key))
  return JSON.stringify([rest, Object.fromEntries(kept)])
}

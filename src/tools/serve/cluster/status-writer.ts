import { CONTROLLER, idOf } from '../../../cluster/translate/cluster-view.ts'
import type { Status } from '../../../cluster/translate/status/conditions.ts'
import type { Clock, Logger } from '../../../runtime/runtime.ts'
import { asFields, asText, type Fields } from '../../../schema/untyped.ts'
import type { ApiClient } from '../../kube-api/api-client.ts'
import { mergeStatus } from './merge-status.ts'

interface Wanted {
  readonly status: Fields
  /** The generation of the object. */
  readonly generation: number
}

export interface StatusWorld {
  readonly client: ApiClient
  readonly clock: Clock
  readonly log: Logger
  /** The last known state of the object. */
  current(id: string): Fields | undefined
  /** Its path on the API server. */
  pathOf(raw: Fields): string | undefined
}

/** Maximum number of concurrent status writes. */
const AT_ONCE = 8
const PAUSE = 1000
const LONGEST = 30_000

/** Brings the statuses in the cluster up to date; only the leader writes. */
export class StatusWriter {
  readonly #world: StatusWorld
  readonly #wanted = new Map<string, Wanted>()
  readonly #due = new Set<string>()
  readonly #waiting = new Map<string, { cancel(): void }>()
  readonly #failures = new Map<string, number>()
  readonly #running = new Set<string>()
  #leading = false
  #closed = false

  constructor(world: StatusWorld) {
    this.#world = world
  }

  /** `whole`: statuses of other objects are dropped. Call it once their state is served. */
  want(statuses: readonly Status[], whole: boolean): void {
    if (whole) this.#wanted.clear()
    for (const { resource, status } of statuses) {
      const { generation } = asFields(resource.raw.metadata) ?? {}
      const id = idOf(resource)
      this.#wanted.set(id, { status, generation: Number(generation ?? 0) })
      this.#due.add(id)
    }
    this.#pump()
  }

  /** Another writer may have changed its status. */
  check(id: string): void {
    if (!this.#wanted.has(id)) return
    this.#due.add(id)
    this.#pump()
  }

  lead(leading: boolean): void {
    this.#leading = leading
    if (leading) for (const id of this.#wanted.keys()) this.#due.add(id)
    this.#pump()
  }

  close(): void {
    this.#closed = true
    for (const timer of this.#waiting.values()) timer.cancel()
  }

  #pump(): void {
    if (!this.#leading || this.#closed) return
    for (const id of this.#due) {
      if (this.#running.size >= AT_ONCE) return
      if (this.#running.has(id) || this.#waiting.has(id)) continue
      this.#due.delete(id)
      const wanted = this.#wanted.get(id)
      const raw = this.#world.current(id)
      if (!wanted || !raw) continue
      const status = mergeStatus(raw, wanted.status, wanted.generation, this.#now())
      if (!status) continue
      this.#running.add(id)
      void this.#write(id, raw, status).finally(() => {
        this.#running.delete(id)
        this.#pump()
      })
    }
  }

  async #write(id: string, raw: Fields, status: Fields): Promise<void> {
    const { client, log, pathOf } = this.#world
    const path = pathOf(raw)
    if (path === undefined) return
    const { name, namespace, resourceVersion } = asFields(raw.metadata) ?? {}
    const metadata = { name, namespace, resourceVersion }
    const body = { apiVersion: raw.apiVersion, kind: raw.kind, metadata, status }
    try {
      const query = `fieldManager=${encodeURIComponent(CONTROLLER)}&force=true`
      const answer = await client.send('PATCH', `${path}/status?${query}`, body)
      if ('value' in answer) {
        this.#failures.delete(id)
        return
      }
      const { status: code, message } = answer.refusal
      // It was deleted or changed: in the latter case, an event follows.
      if (code === 404) return
      if (code !== 409) log.log('warn', 'a status could not be written', { object: id, status: code, error: message })
    } catch (error) {
      log.log('debug', 'a status could not be written', { object: id, error: String(error) })
    }
    this.#later(id)
  }

  #later(id: string): void {
    const failures = this.#failures.get(id) ?? 0
    this.#failures.set(id, failures + 1)
    const ms = failures === 0 ? PAUSE / 10 : Math.min(LONGEST, PAUSE * 2 ** failures)
    const timer = this.#world.clock.after(ms, () => {
      this.#waiting.delete(id)
      this.#due.add(id)
      this.#pump()
    })
    this.#waiting.set(id, timer)
  }

  #now(): string {
    return new Date(this.#world.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')
  }
}

/** The path of one object. */
export function objectPath(all: string, raw: Fields): string {
  return `${all}/${encodeURIComponent(asText(asFields(raw.metadata)?.name) ?? '')}`
}

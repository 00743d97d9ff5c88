import type { Clock } from '../../runtime/runtime.ts'
import { asFields, asText, type Fields } from '../../schema/untyped.ts'
import type { ApiClient, WatchEnd } from './api-client.ts'
import { listAll } from './list-pages.ts'
import { pathOf, type ServedKind, selectionOf } from './list-resources.ts'

/** Receives the objects of one kind. */
export interface Follower {
  /** The complete list: at first, and whenever changes in between were lost. */
  replaced(objects: readonly Fields[]): void
  changed(object: Fields): void
  removed(object: Fields): void
  /** Undefined when it recovers. */
  trouble(reason: string | undefined): void
}

export interface Following {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: () => number
  /** One namespace; all when undefined. */
  readonly namespace: string | undefined
  readonly signal: AbortSignal
}

const SHORTEST = 500
const LONGEST = 15_000

/** Lists the objects of a kind, then reports each change until aborted. Outages are retried. */
export async function followKind(kind: ServedKind, follower: Follower, following: Following): Promise<void> {
  const { client, namespace, signal } = following
  const path = pathOf(kind, namespace)
  let version: string | undefined
  let failures = 0
  const failed = async (reason: string): Promise<void> => {
    follower.trouble(`${kind.plural}: ${reason}`)
    await pause(Math.min(LONGEST, SHORTEST * 2 ** failures++) * (0.5 + following.random() / 2), following)
  }
  while (!signal.aborted) {
    try {
      if (version === undefined) {
        const listed = await listAll(client, path, selectionOf(kind))
        if (signal.aborted) return
        if ('refusal' in listed) {
          const { status, message } = listed.refusal
          // The kind was removed from the cluster, and its objects with it.
          if (status === 404) follower.replaced([])
          await failed(`the API server answers ${status} (${message})`)
          continue
        }
        version = listed.version
        follower.replaced(listed.items.map(item => ({ apiVersion: kind.apiVersion, kind: kind.kind, ...item })))
        follower.trouble(undefined)
      }
      const heard = new Heard(version, follower, () => {
        failures = 0
      })
      const started = following.clock.mono()
      const end = await client.watch(selected(path, kind), version, heard.receive, signal)
      version = isGone(end, heard) ? undefined : heard.version
      // A server that ends each watch at once must be retried with a delay.
      const hasty = following.clock.mono() - started < SHORTEST && !heard.any
      if (end.reason !== undefined && version !== undefined) await failed(end.reason)
      else if (hasty) await pause(SHORTEST, following)
    } catch (error) {
      if (!signal.aborted) await failed(error instanceof Error ? error.message : String(error))
    }
  }
}

function selected(path: string, kind: ServedKind): string {
  const query = selectionOf(kind)
  return query === '' ? path : `${path}?${query}`
}

/** The change history has expired, so the list must be read again. */
function isGone({ status }: WatchEnd, { gone }: Heard): boolean {
  return gone || status === 410
}

class Heard {
  version: string
  gone = false
  any = false
  readonly #follower: Follower
  readonly #heard: () => void

  constructor(version: string, follower: Follower, heard: () => void) {
    this.version = version
    this.#follower = follower
    this.#heard = heard
  }

  readonly receive = ({ type, object }: { readonly type: string; readonly object: Fields }): void => {
    if (type === 'ERROR') {
      // Whatever the error is, a new list resolves it.
      this.gone = true
      return
    }
    if (!this.any) this.#follower.trouble(undefined)
    this.any = true
    this.#heard()
    this.version = asText(asFields(object.metadata)?.resourceVersion) ?? this.version
    if (type === 'ADDED' || type === 'MODIFIED') this.#follower.changed(object)
    if (type === 'DELETED') this.#follower.removed(object)
  }
}

function pause(ms: number, { clock, signal }: Following): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      timer.cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.after(ms, done)
    signal.addEventListener('abort', done)
  })
}

import type { Path } from '../../diagnostics/diagnostic.ts'
import type { Fields } from '../../schema/untyped.ts'
import type { Resource } from '../resources/resource.ts'
import type { ClusterView } from './cluster-view.ts'
import { type From, Origins } from './origin/origins.ts'
import { Tracker } from './origin/tracked.ts'
import type { Condition } from './status/conditions.ts'

export interface TranslateOptions {
  /** Names that the input does not hold are taken to exist elsewhere. */
  readonly partial: boolean
  /** Whether the values of Secrets are written; otherwise their place is named. */
  readonly withSecrets: boolean
  /** The path under which a data entry (certificate, CA bundle) is found; undefined: files cannot be referred to. */
  readonly filePath: ((entry: DataEntry) => string) | undefined
  /** Leave guards out that are not served, instead of refusing the requests that they would have judged. */
  readonly allowUnguarded: boolean
  /** False: nobody asks what a controller would write. */
  readonly statuses?: boolean
  /** `namespace/name` of the only Gateway to translate. */
  readonly gateway?: string
  /** Set where a cluster is followed: each Gateway is served here, and has an address. */
  readonly live?: LiveOptions
}

export interface LiveOptions {
  /** The class whose Gateways are served. */
  readonly className: string
  /** `namespace/name` of the only one that is served. */
  readonly gateway?: string
  addressOf(gateway: Resource): GatewayAddress
}

export interface GatewayAddress {
  /** What its ports listen on; undefined: every address of this machine. */
  readonly listen: string | undefined
  /** Where clients find it. */
  readonly published: readonly string[]
  /** Why it cannot be served. */
  readonly problem?: Condition
}

/** One data entry of a Secret or ConfigMap that the translated file refers to as a file. */
export interface DataEntry {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly key: string
  readonly bytes: Buffer
}

/** What a resource says and the translated file does not. */
export interface Loss {
  readonly from: From
  readonly message: string
  readonly note?: string
  /** Valid and carried over, but the engine does not serve it. */
  readonly unserved?: boolean
  /** Nothing was wrong with the resource by itself: only the compiler refuses it. */
  readonly refused?: boolean
  /** Another policy takes its place: nothing is missing in the file, and something is in vain in the resources. */
  readonly hidden?: boolean
  /** Routes that lead back to themselves: a mistake of its own (GW210). */
  readonly circular?: boolean
}

/** What all parts of one translation share. */
export class Work {
  readonly cluster: ClusterView
  readonly options: TranslateOptions
  readonly origins = new Origins()
  readonly tracker = new Tracker()
  readonly losses: Loss[] = []
  readonly files = new Map<string, DataEntry>()
  /** Errors that end by themselves: a controller has yet to fetch what they name. */
  readonly awaited = new Set<string>()
  /** `backendTLS` that a policy gives a whole ProxyBackend or Service, by its identity. */
  readonly tlsOfBackends = new Map<string, unknown>()

  constructor(cluster: ClusterView, options: TranslateOptions) {
    this.cluster = cluster
    this.options = options
  }

  lose(from: From, message: string, more: Partial<Loss> = {}): void {
    this.losses.push({ from, message, ...more })
  }

  spec(resource: Resource): Fields {
    return this.tracker.spec(resource)
  }

  /** Where a part of a tracked spec was written. */
  from(part: unknown, fallback: Resource): From {
    return this.tracker.from(part) ?? { resource: fallback, path: [] }
  }

  /** `out` was made of `part`. */
  keep<T extends object>(out: T, part: unknown): T {
    const from = this.tracker.from(part)
    return from ? this.origins.mark(out, from) : out
  }

  plain(part: unknown): unknown {
    const out = this.tracker.plain(part)
    return typeof out === 'object' && out !== null ? this.keep(out, part) : out
  }
}

export function at(resource: Resource, ...path: Path): From {
  return { resource, path }
}

import type { Path } from '../../diagnostics/diagnostic.ts'
import type { Pause } from '../../runtime/pause.ts'
import type { Fields } from '../../schema/untyped.ts'
import type { Resource } from '../resources/resource.ts'
import type { ServicePort } from './backend-refs.ts'
import type { ClusterView } from './cluster-view.ts'
import { type From, Origins } from './origin/origins.ts'
import { Tracker } from './origin/tracked.ts'
import type { Condition } from './status/conditions.ts'

export interface TranslateOptions {
  /** Resources missing from the input are assumed to exist. */
  readonly partial: boolean
  /** Whether Secret values are written; otherwise a placeholder is. */
  readonly withSecrets: boolean
  /** The file path of a data entry (certificate, CA bundle). Undefined: files cannot be referenced. */
  readonly filePath: ((entry: DataEntry) => string) | undefined
  /** Omit guards that are not served, instead of refusing the requests that they apply to. */
  readonly allowUnguarded: boolean
  /** When false, no statuses are computed. */
  readonly statuses?: boolean
  /** `namespace/name` of the only Gateway to translate. */
  readonly gateway?: string
  /** Set when following a cluster: each Gateway is served here, and has an address. */
  readonly live?: LiveOptions
  /** Set when the same thread serves requests. */
  readonly pause?: Pause
}

export interface LiveOptions {
  /** The GatewayClass that is served. */
  readonly className: string
  /** `namespace/name` of the only Gateway that is served. */
  readonly gateway?: string
  addressOf(gateway: Resource): GatewayAddress
}

export interface GatewayAddress {
  /** The address that its ports listen on. Undefined for all addresses of this machine. */
  readonly listen: string | undefined
  /** The addresses that clients use. */
  readonly published: readonly string[]
  /** Why it cannot be served. */
  readonly problem?: Condition
}

/** A data entry of a Secret or ConfigMap that the translated file references as a file. */
export interface DataEntry {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly key: string
  readonly bytes: Buffer
}

/** Content of a resource that the translated file lacks. */
export interface Loss {
  readonly from: From
  readonly message: string
  readonly note?: string
  /** Valid and translated, but not served by the engine. */
  readonly unserved?: boolean
  /** The resource is valid by itself: only the compiler rejects it. */
  readonly refused?: boolean
  /** Overridden by another policy: the file is complete, but part of a resource has no effect. */
  readonly hidden?: boolean
  /** Routes that delegate in a cycle: a mistake of its own (GW210). */
  readonly circular?: boolean
}

/** Invalid expressions by policy, backend or model, reported in its status. */
export type Faults = ReadonlyMap<Resource, readonly string[]>

/** State shared by all parts of one translation. */
export class Work {
  readonly cluster: ClusterView
  readonly options: TranslateOptions
  readonly origins = new Origins()
  readonly tracker = new Tracker()
  readonly losses: Loss[] = []
  readonly files = new Map<string, DataEntry>()
  /** Temporary errors: a controller has yet to fetch what they name. */
  readonly awaited = new Set<string>()
  /** Identities of the objects that backend policies target, with `#port` for a single port of a Service. */
  readonly aimedAt = new Set<string>()
  /** Services that policies call under policies of their own, by the name of the backend that the file has for each. */
  readonly called = new Map<string, ServicePort>()
  /** The `backendTLS` that a policy sets on a ProxyBackend or Service, by the same identities. */
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

  /** The origin of a part of a tracked spec. */
  from(part: unknown, fallback: Resource): From {
    return this.tracker.from(part) ?? { resource: fallback, path: [] }
  }

  /** Records that `out` comes from `part`. */
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

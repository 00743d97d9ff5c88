import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { CONTROLLER, idOf } from '../../../cluster/translate/cluster-view.ts'
import { type Loaded, load } from '../../../config/load.ts'
import { offlineRuntime } from '../../../config/offline-runtime.ts'
import { Failure } from '../../../diagnostics/failure.ts'
import { systemClock } from '../../../engine/clock.ts'
import { readIfRegular } from '../../../files/read-file.ts'
import type { Logger, Timer } from '../../../runtime/runtime.ts'
import { asFields, asText, type Fields } from '../../../schema/untyped.ts'
import type { InputText } from '../../input/input-files.ts'
import { ApiClient } from '../../kube-api/api-client.ts'
import { type Follower, followKind } from '../../kube-api/follow-kind.ts'
import { type ClusterChoice, type ClusterPlace, findContext } from '../../kube-api/kubeconfig.ts'
import { discover, pathOf, type ServedKind } from '../../kube-api/list-resources.ts'
import { createGateway, type OneGateway, openGateway } from '../one-gateway.ts'
import type { RunningGateway, ServeOptions } from '../serving.ts'
import { Addresses, type AddressOptions } from './addresses.ts'
import { Leader } from './leader.ts'
import { LiveCompiler } from './live-compiler.ts'
import { LiveObjects } from './live-objects.ts'
import { PortStatuses } from './port-status.ts'
import { objectPath, StatusWriter } from './status-writer.ts'

export interface ClusterServing extends ClusterChoice, Pick<ServeOptions, 'log' | 'version' | 'portFor'> {
  /** The only namespace to follow; all when unset. */
  readonly namespace?: string
  readonly className: string
  /** `namespace/name` of the only Gateway that is served. */
  readonly gateway?: string | undefined
  /** A file whose `config` applies to the process. */
  readonly settings?: InputText | undefined
  readonly addresses: AddressOptions
  /** The namespace of the Lease; that of the context when unset. */
  readonly leaseNamespace?: string | undefined
}

/** Follows a cluster and serves the Gateways of one class. Waits until the API server answers. */
export async function serveCluster(options: ClusterServing, place: ClusterPlace): Promise<RunningGateway> {
  const context = await findContext(options, place)
  const addresses = new Addresses(options.addresses)
  const client = new ApiClient(context)
  const { env } = place
  const { file, text } = options.settings ?? { file: '<cluster>', text: '{}' }
  const world = { env, tier: 'env', runtime: offlineRuntime(), readReferenced: readIfRegular } as const
  const written = await load(file, text, world)
  refuseWrong(written)
  const config = asFields(asFields(written.source.documents[0]?.value)?.config) ?? {}
  // Variables are already resolved, and no other part of the file opens ports.
  const empty = await load(file, JSON.stringify({ config }).replaceAll('$', '$$$$'), world)
  const { settings } = empty.snapshot!
  const one = createGateway(options, settings, () => replica.portOpened())
  // Without ports until all initial lists have arrived.
  await one.gateway.apply(empty.snapshot!)
  const replica: ClusterReplica = new ClusterReplica(options, { client, addresses, one, env, config })
  const running = await openGateway(one, settings, options.version, {
    pending: () => (replica.isServing ? [] : ['cluster']),
    ended: () => replica.close(),
  })
  replica.start()
  return Object.assign(running, { bodies: undefined, reload: () => replica.update() })
}

/** Throws a Failure if the settings are invalid. */
function refuseWrong({ diagnostics, runnable }: Loaded): void {
  const wrong = diagnostics.find(({ severity, code }) => severity === 'error' || code.startsWith('GW6'))
  if (runnable || !wrong) return
  const { file, range, message } = wrong
  throw new Failure('input', `${file}:${range.start.line}: ${message}`, {
    help: 'Only `config` of this file is read; `gwctl validate` shows what is wrong with it.',
  })
}

interface Parts {
  readonly client: ApiClient
  readonly addresses: Addresses
  readonly one: OneGateway
  readonly env: ClusterPlace['env']
  readonly config: Fields
}

/** ms for which changes are batched: one apply makes several. */
const GATHER = 20
/** Interval in ms between checks for kinds that the cluster lacked. */
const LOOK_AGAIN = 10_000

class ClusterReplica {
  readonly #options: ClusterServing
  readonly #parts: Parts
  readonly #log: Logger
  readonly #objects = new LiveObjects((object, reasons) =>
    this.#log.log('warn', 'an object has mistakes', { object, error: reasons.join('; ') }),
  )
  readonly #compiler: LiveCompiler
  readonly #statuses: StatusWriter
  readonly #leader: Leader
  readonly #ports: PortStatuses
  readonly #stop = new AbortController()
  /** The followed kinds, by kind and version. */
  readonly #followed = new Map<string, { readonly kind: ServedKind; listed: boolean; trouble: string | undefined }>()
  #timer: Timer | undefined
  #queue: Promise<boolean> = Promise.resolve(true)
  #complete = false
  isServing = false

  constructor(options: ClusterServing, parts: Parts) {
    const { client, one, addresses, env, config } = parts
    const { gateway } = one
    const { className, gateway: only } = options
    this.#options = options
    this.#parts = parts
    this.#log = one.log.logger('cluster')
    const { addressOf } = addresses
    const live = { className, addressOf, ...(only === undefined ? {} : { gateway: only }) }
    this.#compiler = new LiveCompiler({ runtime: gateway.runtime, state: gateway.state, env, config }, live)
    const shared = { client, clock: systemClock, log: this.#log }
    this.#ports = new PortStatuses({
      failures: () => gateway.portFailures,
      addressOf: name => {
        const found = this.#objects.get(`Gateway/${name}`)?.resource
        return found && addressOf(found).listen
      },
    })
    this.#statuses = new StatusWriter({
      ...shared,
      current: id => this.#objects.get(id)?.written.raw,
      pathOf: raw => this.#pathOf(raw),
    })
    this.#leader = new Leader({
      ...shared,
      namespace: options.leaseNamespace ?? client.namespace,
      // Replicas of a single Gateway elect a leader among themselves.
      lease: only === undefined ? `gwctl-${className}` : `gwctl-${className}.${only.replace('/', '.')}`,
      identity: `${hostname()}_${randomUUID()}`,
      changed: leading => this.#lead(leading),
    })
  }

  start(): void {
    void this.#follow()
    this.#leader.start()
  }

  portOpened(): void {
    this.#statuses.want(this.#ports.current, false)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.#timer?.cancel()
    this.#statuses.close()
    await this.#leader.close()
  }

  /** Serves the current state. */
  update(): Promise<boolean> {
    this.#queue = this.#queue.then(() => this.#update())
    return this.#queue
  }

  /** Follows every kind that the cluster has, and rechecks for the others. */
  async #follow(): Promise<void> {
    const { client } = this.#parts
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        const { served, absent } = await discover(client)
        for (const kind of served) this.#followOne(kind)
        this.#complete = true
        this.#changed()
        if (absent.length === 0) return
      } catch (error) {
        if (!this.#complete) this.#log.log('warn', 'the API server does not answer', { error: textOf(error) })
      }
      await this.#pause(this.#complete ? LOOK_AGAIN : 1000)
    }
  }

  #followOne(kind: ServedKind): void {
    const key = `${kind.apiVersion}/${kind.kind}`
    if (this.#followed.has(key)) return
    const state = { kind, listed: false, trouble: undefined as string | undefined }
    this.#followed.set(key, state)
    const follower: Follower = {
      replaced: objects => {
        this.#objects.replace(kind.kind, objects)
        for (const raw of objects) this.#heard(raw)
        state.listed = true
        this.#changed()
      },
      changed: raw => {
        this.#objects.put(raw)
        this.#heard(raw)
        this.#changed()
      },
      removed: raw => {
        this.#objects.remove(raw)
        this.#changed()
      },
      trouble: reason => {
        if (reason === state.trouble) return
        state.trouble = reason
        if (reason === undefined) this.#log.log('info', 'the cluster is followed again', { kind: kind.kind })
        else this.#log.log('warn', 'the cluster is not followed: what is known stays', { reason })
      },
    }
    const { namespace } = this.#options
    const { signal } = this.#stop
    const { client } = this.#parts
    void followKind(kind, follower, { client, clock: systemClock, random: Math.random, namespace, signal })
  }

  /** Its status may come from another writer, or be outdated. */
  #heard(raw: Fields): void {
    const object = this.#objects.find(raw)
    if (!object) return
    const { id, written, resource } = object
    if (written.kind.kind === 'Gateway' && resource && !this.#parts.addresses.agrees(resource))
      this.#objects.again([id])
    this.#statuses.check(id)
  }

  #changed(): void {
    const ready = this.#complete && [...this.#followed.values()].every(({ listed, trouble }) => listed || trouble)
    if (!ready || this.#timer || this.#stop.signal.aborted) return
    this.#timer = systemClock.after(GATHER, () => {
      this.#timer = undefined
      void this.update()
    })
  }

  async #update(): Promise<boolean> {
    const { addresses, one } = this.#parts
    if (this.#stop.signal.aborted || (this.isServing && !this.#objects.isDirty)) return true
    const started = performance.now()
    const changed = await this.#objects.settle()
    try {
      await addresses.prepare(this.#objects.list('Gateway').filter(gateway => this.#isOurs(gateway.raw)))
      const { snapshot, statuses, whole } = await this.#compiler.compile(changed, this.#objects)
      if (snapshot !== one.gateway.snapshot) await one.gateway.apply(snapshot)
      this.#statuses.want(this.#ports.take(statuses, whole), whole)
      one.synchronized.set(1)
      this.isServing = true
      const ms = Math.round(performance.now() - started)
      this.#log.log('debug', 'the cluster is served', { changed: changed.size, whole, ms })
      return true
    } catch (error) {
      one.synchronized.set(0)
      this.#log.log('error', 'a change of the cluster cannot be served, what was served stays', {
        error: textOf(error),
      })
      return false
    }
  }

  #isOurs(gateway: Fields): boolean {
    return asFields(gateway.spec)?.gatewayClassName === this.#options.className
  }

  #lead(leading: boolean): void {
    const { addresses } = this.#parts
    addresses.leading = leading
    this.#statuses.lead(leading)
    if (!leading) return
    void this.#makeClass()
    // Gateways may be waiting for an address.
    this.#objects.again(this.#objects.list('Gateway').map(idOf))
    this.#changed()
  }

  /** Creates the class at the start, unless it exists. */
  async #makeClass(): Promise<void> {
    const { client } = this.#parts
    const { className } = this.#options
    const object = {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'GatewayClass',
      metadata: { name: className },
      spec: { controllerName: CONTROLLER, description: 'Served by gwctl run --kube.' },
    }
    const all = '/apis/gateway.networking.k8s.io/v1/gatewayclasses'
    while (!this.#stop.signal.aborted) {
      const answer = await client.send('POST', all, object).catch(() => undefined)
      if (answer && ('value' in answer || answer.refusal.status === 409)) return
      if (answer?.refusal.status === 403) {
        this.#log.log('warn', 'the GatewayClass may not be made', { name: className })
        return
      }
      await this.#pause(LOOK_AGAIN)
    }
  }

  #pathOf(raw: Fields): string | undefined {
    const served = this.#followed.get(`${asText(raw.apiVersion)}/${asText(raw.kind)}`)?.kind
    const { namespace } = asFields(raw.metadata) ?? {}
    return served && objectPath(pathOf(served, asText(namespace)), raw)
  }

  #pause(ms: number): Promise<void> {
    const { signal } = this.#stop
    return new Promise(done => {
      const timer = systemClock.after(ms, done)
      signal.addEventListener('abort', () => {
        timer.cancel()
        done()
      })
    })
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

import type { Clock, Logger, Timer } from '../../../runtime/runtime.ts'
import { asFields, asText, type Fields } from '../../../schema/untyped.ts'
import type { ApiClient } from '../../kube-api/api-client.ts'

export interface LeaderWorld {
  readonly client: Pick<ApiClient, 'get' | 'send'>
  readonly clock: Clock
  readonly log: Logger
  readonly namespace: string
  readonly lease: string
  /** Unique among the replicas. */
  readonly identity: string
  changed(leading: boolean): void
}

/** ms; the usual values of Kubernetes controllers. */
const HELD = 15_000
const RENEWED_WITHIN = 10_000
const RETRY = 2000

/**
 * Elects the replica that writes statuses and assigns addresses: the holder of the Lease. Its times are never compared
 * with this machine's clock, which may jump; only changes to it matter.
 */
export class Leader {
  readonly #world: LeaderWorld
  #leading = false
  #closed = false
  #turning: Promise<void> | undefined
  #timer: Timer | undefined
  /** Steps down. */
  #expiry: Timer | undefined
  /** The last seen version of the Lease, and since when it has not changed. */
  #seen: { readonly version: string; readonly since: number } | undefined

  constructor(world: LeaderWorld) {
    this.#world = world
  }

  start(): void {
    this.#turning = this.#turn()
  }

  /** Releases the Lease, so that another replica can take over at once. */
  async close(): Promise<void> {
    this.#closed = true
    this.#timer?.cancel()
    this.#expiry?.cancel()
    await this.#turning
    if (!this.#leading) return
    this.#leading = false
    const { client } = this.#world
    const answer = await client.get(this.#path).catch(() => undefined)
    if (!answer || !('value' in answer)) return
    const spec = asFields(answer.value.spec) ?? {}
    if (spec.holderIdentity !== this.#world.identity) return
    await client.send('PUT', this.#path, { ...answer.value, spec: { ...spec, holderIdentity: '' } }).catch(() => {})
  }

  async #turn(): Promise<void> {
    const { clock, log } = this.#world
    const asked = clock.mono()
    const holds = await this.#hold().catch(error => {
      log.log('debug', 'the lease could not be renewed', { error: String(error) })
      return undefined
    })
    if (this.#closed) {
      this.#leading ||= holds === true
      return
    }
    // Counted from the request on: another replica counts from when the Lease was written.
    const left = RENEWED_WITHIN - (clock.mono() - asked)
    if (holds === true && left > 0) {
      this.#expiry?.cancel()
      // Calls may take longer than the Lease lasts.
      this.#expiry = clock.after(left, () => this.#become(false))
      this.#become(true)
    } else if (holds === false) this.#become(false)
    this.#timer = clock.after(RETRY, () => this.start())
  }

  #become(leading: boolean): void {
    if (leading === this.#leading) return
    this.#leading = leading
    const { changed, lease, log } = this.#world
    log.log('info', leading ? 'leads the replicas' : 'does not lead the replicas any more', { lease })
    changed(leading)
  }

  get #path(): string {
    const { namespace, lease } = this.#world
    return `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases/${encodeURIComponent(lease)}`
  }

  /** Whether this replica now holds the Lease. */
  async #hold(): Promise<boolean> {
    const { client, clock, identity, log } = this.#world
    const answer = await client.get(this.#path)
    if ('refusal' in answer) {
      const { status, message } = answer.refusal
      if (status === 404) return this.#make()
      if (status !== 403) throw new Error(message)
      if (this.#seen === undefined)
        log.log('error', 'the lease may not be read: no statuses are written', { error: message })
      this.#seen = { version: '', since: clock.mono() }
      return false
    }
    const { value } = answer
    const spec = asFields(value.spec) ?? {}
    const version = asText(asFields(value.metadata)?.resourceVersion) ?? ''
    if (version !== this.#seen?.version) this.#seen = { version, since: clock.mono() }
    const holder = asText(spec.holderIdentity) ?? ''
    const held = Number(spec.leaseDurationSeconds ?? HELD / 1000) * 1000
    if (holder !== '' && holder !== identity && clock.mono() - this.#seen.since < held) return false
    const transitions = Number(spec.leaseTransitions ?? 0) + (holder === identity ? 0 : 1)
    const acquired = holder === identity ? { acquireTime: spec.acquireTime } : {}
    const renewed = { ...value, spec: { ...this.#spec(), ...acquired, leaseTransitions: transitions } }
    // Conditional on the version that was read: of two replicas only one succeeds.
    return this.#succeeds('PUT', this.#path, renewed)
  }

  #make(): Promise<boolean> {
    const { namespace, lease } = this.#world
    const object = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: lease, namespace } }
    const all = this.#path.slice(0, this.#path.lastIndexOf('/'))
    return this.#succeeds('POST', all, { ...object, spec: { ...this.#spec(), leaseTransitions: 0 } })
  }

  async #succeeds(method: 'PUT' | 'POST', path: string, body: object): Promise<boolean> {
    const answer = await this.#world.client.send(method, path, body)
    if ('value' in answer) return true
    if (answer.refusal.status === 409) return false
    throw new Error(answer.refusal.message)
  }

  #spec(): Fields {
    const now = new Date(this.#world.clock.now()).toISOString().replace('Z', '000Z')
    return {
      holderIdentity: this.#world.identity,
      leaseDurationSeconds: HELD / 1000,
      acquireTime: now,
      renewTime: now,
    }
  }
}

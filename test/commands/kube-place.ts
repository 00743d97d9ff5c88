import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { startAdmin } from '../../src/engine/admin/server.ts'
import { thisThread } from '../../src/engine/admin/threads.ts'
import { systemClock } from '../../src/engine/clock.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { FakeGateway } from '../engine/admin/running-admin.ts'
import { type KubeServerOptions, startKubeServer } from '../helpers/kube-server.ts'
import type { ForwardingOptions } from '../helpers/port-forward.ts'

const root = new URL('../../', import.meta.url)
export const GATEWAY_API = 'gateway.networking.k8s.io/v1'
export const KINDS = {
  v1: { Pod: 'pods', Service: 'services' },
  [GATEWAY_API]: { Gateway: 'gateways' },
  'apps/v1': {
    Deployment: 'deployments',
    ReplicaSet: 'replicasets',
    StatefulSet: 'statefulsets',
    DaemonSet: 'daemonsets',
  },
}
export const OF_EDGE = { 'gateway.networking.k8s.io/gateway-name': 'edge', app: 'edge' }

export function pod(
  name: string,
  { ready = true, phase = 'Running', labels = OF_EDGE as object, leaving = false } = {},
) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels, ...(leaving ? { deletionTimestamp: '2026-11-21T12:00:00Z' } : {}) },
    status: { phase, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  }
}

export function resource(apiVersion: string, kind: string, name: string, spec: object = {}) {
  return { apiVersion, kind, metadata: { name, namespace: 'shop' }, spec }
}

export const EDGE = resource(GATEWAY_API, 'Gateway', 'edge')
export const POD = pod('edge-1')
const DUMP = {
  binds: [],
  listeners: [],
  routes: [],
  policies: [],
  services: [],
  workloads: [],
  backends: [],
  version: { version: '1' },
  config: {},
}

export type Cluster = Awaited<ReturnType<typeof startKubeServer>>

/** A gateway with an admin server, and a shell whose kubeconfig leads to a cluster. */
export class KubePlace implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'gwctl-kube-'))
  readonly gateway = new FakeGateway()
  /** A proxy on the way to the cluster. */
  proxy: string | undefined
  readonly #admin

  constructor() {
    this.gateway.dumped = DUMP
    this.#admin = startAdmin('127.0.0.1:0', withThreads(this.gateway))
  }

  /** A cluster in which port 15000 of every pod is the admin server; of `own` pods it is another one, or none. */
  async cluster(
    items: readonly object[],
    { own = {}, ...more }: Partial<KubeServerOptions> & Pick<ForwardingOptions, 'own'> = {},
  ): Promise<Cluster> {
    const adminPort = portIn((await this.#admin).address)
    const portOf = (port: number) => (port === 15_000 ? adminPort : undefined)
    const all = items as KubeServerOptions['items']
    return startKubeServer({ kinds: KINDS, items: all, forwarding: { portOf, own }, ...more })
  }

  async gwctl(cluster: Cluster, ...argv: string[]) {
    const io = this.start(cluster, argv)
    const code = await io.ended
    expect(io.stdout.text + io.stderr.text).not.toContain('secret-token')
    return { code, out: io.stdout.text, err: io.stderr.text }
  }

  start(cluster: Cluster, argv: readonly string[]) {
    const io = this.shell(cluster)
    return Object.assign(io, { ended: main(argv, io, root) })
  }

  /** Surroundings whose kubeconfig leads to the cluster. */
  shell({ url, authority }: Cluster, user: object = { token: 'secret-token' }) {
    const ca = Buffer.from(authority).toString('base64')
    const config = {
      'current-context': 'main',
      clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority-data': ca, 'proxy-url': this.proxy } }],
      users: [{ name: 'u', user }],
      contexts: ['main', 'staging'].map(name => ({ name, context: { cluster: 'c', user: 'u', namespace: 'shop' } })),
    }
    writeFileSync(join(this.folder, 'config'), JSON.stringify(config))
    return memoryIo({ cwd: this.folder, env: { KUBECONFIG: join(this.folder, 'config') } })
  }

  async [Symbol.asyncDispose]() {
    await (await this.#admin).close()
    rmSync(this.folder, { recursive: true })
  }
}

export function portIn(address: string): number {
  return Number(address.split(':')[1])
}

export function withThreads(gateway: FakeGateway) {
  return Object.assign(gateway, { threads: thisThread('main', systemClock) })
}

/** The first request that somebody watches. */
export async function watched(gateway: FakeGateway) {
  for (;;) {
    const x = gateway.arrive()
    if (x.trace !== undefined) return x
    await new Promise(setImmediate)
  }
}

import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { createAuthority, createCertificate } from './certificates.ts'

type Item = Record<string, unknown> & { metadata: Record<string, unknown>; status?: unknown }
type Plurals = Readonly<Record<string, Readonly<Record<string, string>>>>

/** What a replica reads, by group and version. */
const PLURALS: Plurals = {
  v1: { Service: 'services', Secret: 'secrets', ConfigMap: 'configmaps', Namespace: 'namespaces' },
  'discovery.k8s.io/v1': { EndpointSlice: 'endpointslices' },
  'gateway.networking.k8s.io/v1': {
    GatewayClass: 'gatewayclasses',
    Gateway: 'gateways',
    HTTPRoute: 'httproutes',
    GRPCRoute: 'grpcroutes',
  },
  'agentgateway.dev/v1alpha1': { AgentgatewayPolicy: 'agentgatewaypolicies', AgentgatewayModel: 'agentgatewaymodels' },
  'coordination.k8s.io/v1': { Lease: 'leases' },
}
const CLUSTER_WIDE = new Set(['GatewayClass', 'Namespace'])

interface Watch {
  readonly kind: string
  readonly reply: ServerResponse
}

/**
 * An API server that lives: lists, watches with versions and bookmarks, refuses old versions (410), applies statuses
 * with their versions held against the object's (409), and keeps leases. It can be cut off, and come back.
 */
export class LivingCluster implements AsyncDisposable {
  readonly #authority = createAuthority('kube-ca')
  readonly #server: Server
  readonly #items = new Map<string, Item>()
  /** The statuses as they were last sent: all writers have one name. */
  readonly #applied = new Map<string, unknown>()
  readonly #watches = new Set<Watch>()
  readonly #sockets = new Set<Socket>()
  /** Every event since the oldest that is kept. */
  #events: { readonly version: number; readonly kind: string; readonly type: string; readonly object: Item }[] = []
  #version = 100
  #oldest = 100
  #port = 0
  /** `METHOD path` of what was asked. */
  readonly requests: string[] = []
  /** Called before a status is applied. */
  beforeApply: ((body: string) => void) | undefined

  constructor() {
    const { cert, key } = createCertificate(this.#authority, ['localhost'])
    this.#server = createServer({ cert, key }, (req, res) => void this.#answer(req, res))
    this.#server.on('connection', socket => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  async open(): Promise<this> {
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
    return this
  }

  /** Nobody gets through, and all connections end. */
  async cut(): Promise<void> {
    this.#watches.clear()
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  /** As after a restart: what happened before is not told any more. */
  forget(): void {
    this.#events = []
    this.#oldest = this.#version
  }

  get kubeconfig(): string {
    const ca = Buffer.from(this.#authority.cert).toString('base64')
    return JSON.stringify({
      'current-context': 'main',
      clusters: [
        { name: 'c', cluster: { server: `https://localhost:${this.#port}`, 'certificate-authority-data': ca } },
      ],
      users: [{ name: 'u', user: { token: 'secret-token' } }],
      contexts: [{ name: 'main', context: { cluster: 'c', user: 'u', namespace: 'infra' } }],
    })
  }

  /** As a user applies it: its generation counts what is not status. */
  put(item: object): void {
    const given = structuredClone(item) as Item
    const key = keyOf(given)
    const known = this.#items.get(key)
    const generation = Number(known?.metadata.generation ?? 0) + 1
    const metadata = { creationTimestamp: '2026-01-01T00:00:00Z', ...given.metadata, generation }
    this.#store(known ? 'MODIFIED' : 'ADDED', {
      ...given,
      metadata,
      ...(known?.status ? { status: known.status } : {}),
    })
  }

  delete(kind: string, namespace: string, name: string): void {
    const key = `${kind}/${namespace}/${name}`
    const item = this.#items.get(key)
    this.#items.delete(key)
    if (item) this.#tell('DELETED', item)
  }

  get(kind: string, namespace: string, name: string): Item | undefined {
    return this.#items.get(`${kind}/${namespace}/${name}`)
  }

  bookmark(): void {
    for (const { kind, reply } of this.#watches) {
      const object = { kind, metadata: { resourceVersion: String(this.#version) } }
      reply.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`)
    }
  }

  /** Ends every watch with the error of a version that is too old. */
  expire(): void {
    this.forget()
    for (const { reply } of this.#watches) {
      reply.end(`${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } })}\n`)
    }
    this.#watches.clear()
  }

  async [Symbol.asyncDispose]() {
    if (this.#server.listening) await this.cut()
  }

  #store(type: string, item: Item): void {
    const stored = { ...item, metadata: { ...item.metadata, resourceVersion: String(++this.#version) } }
    this.#items.set(keyOf(stored), stored)
    this.#tell(type, stored)
  }

  #tell(type: string, item: Item): void {
    const kind = String(item.kind)
    const object =
      type === 'DELETED' ? { ...item, metadata: { ...item.metadata, resourceVersion: String(++this.#version) } } : item
    this.#events.push({ version: this.#version, kind, type, object })
    for (const watch of this.#watches) {
      if (watch.kind === kind) watch.reply.write(`${JSON.stringify({ type, object })}\n`)
    }
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    this.requests.push(`${req.method} ${req.url}`)
    const send = (status: number, body: object): void => {
      res.writeHead(status, { 'content-type': 'application/json' })
      res.end(JSON.stringify(body))
    }
    const refuse = (code: number, message: string) => send(code, { kind: 'Status', status: 'Failure', code, message })
    if (req.headers.authorization !== 'Bearer secret-token') return refuse(401, 'Unauthorized')
    const { pathname, searchParams } = new URL(req.url!, 'https://localhost')
    const path = pathname.slice(1).split('/')
    if (pathname === '/apis') return send(200, groups())
    const apiVersion = path[0] === 'api' ? path[1]! : `${path[1]}/${path[2]}`
    const rest = path.slice(path[0] === 'api' ? 2 : 3)
    const kinds = PLURALS[apiVersion]
    if (!kinds) return refuse(404, 'the server could not find the requested resource')
    if (rest.length === 0) return send(200, { kind: 'APIResourceList', resources: resources(kinds) })
    const namespaced = rest[0] === 'namespaces' && rest.length > 1
    const [plural = '', name, part] = namespaced ? rest.slice(2) : rest
    const kind = Object.keys(kinds).find(each => kinds[each] === plural)
    if (kind === undefined) return refuse(404, 'the server could not find the requested resource')
    if (searchParams.get('watch') === 'true') return this.#watch(kind, Number(searchParams.get('resourceVersion')), res)
    let body = ''
    for await (const chunk of req) body += String(chunk)
    const sent = body === '' ? undefined : (JSON.parse(body) as Item)
    const key = `${kind}/${namespaced ? rest[1] : ''}/${name ?? sent?.metadata.name}`
    const known = this.#items.get(key)
    if (req.method === 'GET' && name === undefined) {
      const items = [...this.#items.values()].filter(item => item.kind === kind)
      const bare = items.map(({ kind: _kind, apiVersion: _version, ...item }) => item)
      return send(200, { kind: `${kind}List`, metadata: { resourceVersion: String(this.#version) }, items: bare })
    }
    if (req.method === 'GET') return known ? send(200, known) : refuse(404, `${plural} "${name}" not found`)
    if (req.method === 'POST' && known) return refuse(409, `${plural} "${name}" already exists`)
    if (req.method !== 'POST' && !known) return refuse(404, `${plural} "${name}" not found`)
    if (part === 'status') this.beforeApply?.(body)
    const version = sent?.metadata.resourceVersion
    if (version !== undefined && version !== this.#items.get(key)?.metadata.resourceVersion) {
      return refuse(409, 'the object has been modified; please apply your changes to the latest version')
    }
    if (part === 'status') {
      const before = this.#items.get(key)!
      const status = applied(before.status, sent!.status, this.#applied.get(key))
      this.#applied.set(key, sent!.status)
      this.#store('MODIFIED', { ...before, status })
    }
    if (part !== 'status') this.#store(known ? 'MODIFIED' : 'ADDED', sent!)
    send(200, this.#items.get(key)!)
  }

  #watch(kind: string, from: number, reply: ServerResponse): void {
    reply.writeHead(200, { 'content-type': 'application/json' })
    reply.flushHeaders()
    if (from < this.#oldest) {
      reply.end(`${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } })}\n`)
      return
    }
    for (const { version, kind: of, type, object } of this.#events) {
      if (of === kind && version > from) reply.write(`${JSON.stringify({ type, object })}\n`)
    }
    const watch = { kind, reply }
    this.#watches.add(watch)
    reply.on('close', () => this.#watches.delete(watch))
  }
}

function keyOf({ kind, metadata }: Item): string {
  return `${String(kind)}/${String(metadata.namespace ?? '')}/${String(metadata.name)}`
}

/** Server-side apply: `conditions` and `listeners` are merged by name, and what this writer no longer sends is removed. */
function applied(known: unknown, sent: unknown, before: unknown): unknown {
  if (!isFields(sent)) return sent
  const was = isFields(before) ? before : {}
  const is = isFields(known) ? known : {}
  const kept = Object.entries(is).filter(([name]) => !(name in sent) && !(name in was))
  const merged = Object.entries(sent).map(([name, value]) => {
    const byName = (name === 'conditions' || name === 'listeners') && Array.isArray(value)
    return [name, byName ? appliedItems(is[name], value, was[name]) : value]
  })
  return Object.fromEntries([...kept, ...merged])
}

function appliedItems(known: unknown, sent: readonly unknown[], before: unknown): unknown[] {
  const nameOf = (item: unknown) => (isFields(item) ? (item.type ?? item.name) : item)
  const listed = (list: unknown) => new Map((Array.isArray(list) ? list : []).map(item => [nameOf(item), item]))
  const [is, was, wants] = [listed(known), listed(before), listed(sent)]
  const kept = [...is].filter(([name]) => !wants.has(name) && !was.has(name)).map(([, item]) => item)
  return [...kept, ...[...wants].map(([name, item]) => applied(is.get(name), item, was.get(name)))]
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function groups() {
  const names = Object.keys(PLURALS).filter(each => each.includes('/'))
  return {
    kind: 'APIGroupList',
    groups: names.map(each => {
      const [name, version] = each.split('/')
      return { name, versions: [{ groupVersion: each, version }] }
    }),
  }
}

function resources(kinds: Readonly<Record<string, string>>) {
  return Object.entries(kinds).map(([kind, name]) => ({ name, kind, namespaced: !CLUSTER_WIDE.has(kind) }))
}

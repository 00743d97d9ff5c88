import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { createAuthority, createCertificate } from './certificates.ts'
import { type ForwardingOptions, servePortForward } from './port-forward.ts'

type Item = Record<string, unknown>

export interface KubeServerOptions {
  /** By group and version (`v1`, `apps/v1`): its kinds with their plurals. */
  readonly kinds: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly items: readonly Item[]
  readonly token?: string
  /** Plurals that may not be listed. */
  readonly forbidden?: readonly string[]
  /** Items of a page, whatever was asked for. */
  readonly page?: number
  /** The first continued list of this plural is too old. */
  readonly expires?: string
  /** Answers of the first requests, before the server behaves. */
  readonly busy?: number
  /** How ports of pods are reached; a pod that is not among the items is unknown. */
  readonly forwarding?: ForwardingOptions
  /** Pods that are listed, and gone when a port of theirs is asked for. */
  readonly gone?: readonly string[]
  /** Bytes of nothing in each answer. */
  readonly padding?: number
  /** Never answers. */
  readonly hangs?: boolean
}

const CLUSTER_WIDE = new Set(['Namespace', 'GatewayClass'])

/** Speaks as much of the Kubernetes API as reading needs: discovery, lists in pages, its ways of refusing. */
export async function startKubeServer(options: KubeServerOptions) {
  const authority = createAuthority('kube-ca')
  const { cert, key } = createCertificate(authority, ['localhost'])
  const client = createCertificate(authority, ['reader'])
  const requests: string[] = []
  const upgraded = new Set<Duplex>()
  let busy = options.busy ?? 0
  let expired = false
  const server: Server = createServer({ cert, key, ca: authority.cert, requestCert: true, rejectUnauthorized: false })
  server.on('request', (req, res) => {
    requests.push(req.url!)
    const send = (status: number, body: object, headers = {}): void => {
      res.writeHead(status, { 'content-type': 'application/json', ...headers })
      res.end(JSON.stringify(body) + ' '.repeat(options.padding ?? 0))
    }
    const refuse = (code: number, reason: string, message: string, headers = {}) =>
      send(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }, headers)
    if (options.hangs) return
    const known = (req.socket as unknown as { authorized: boolean }).authorized
    const token = `Bearer ${options.token ?? 'secret-token'}`
    if (!known && req.headers.authorization !== token) return refuse(401, 'Unauthorized', 'Unauthorized')
    if (busy-- > 0) return refuse(429, 'TooManyRequests', 'too many requests', { 'retry-after': '0' })
    const url = new URL(req.url!, 'https://localhost')
    const path = url.pathname.slice(1).split('/')
    if (url.pathname === '/apis') return send(200, groupList(options))
    const apiVersion = path[0] === 'api' ? path[1]! : `${path[1]}/${path[2]}`
    const rest = path.slice(path[0] === 'api' ? 2 : 3)
    const kinds = options.kinds[apiVersion]
    if (!kinds) return refuse(404, 'NotFound', 'the server could not find the requested resource')
    if (rest.length === 0) return send(200, { kind: 'APIResourceList', resources: resourceList(kinds) })
    const namespace = rest[0] === 'namespaces' && rest.length > 1 ? rest[1] : undefined
    const [plural = '', name] = namespace === undefined ? rest : rest.slice(2)
    const kind = Object.keys(kinds).find(each => kinds[each] === plural)
    if (kind === undefined) return refuse(404, 'NotFound', 'the server could not find the requested resource')
    if (options.forbidden?.includes(plural)) {
      return refuse(403, 'Forbidden', `${plural} is forbidden: User "reader" cannot list resource "${plural}"`)
    }
    const selector = url.searchParams.get('labelSelector')
    const token2 = url.searchParams.get('continue')
    if (token2 !== null && options.expires === plural && !expired) {
      expired = true
      return refuse(410, 'Expired', 'The provided continue parameter is too old')
    }
    const all = options.items.filter(
      item =>
        item.kind === kind &&
        item.apiVersion === apiVersion &&
        (namespace === undefined || (item.metadata as Item).namespace === namespace) &&
        (selector === null || selects(selector, item)),
    )
    if (name !== undefined) {
      const found = all.find(item => (item.metadata as Item).name === name)
      return found ? send(200, found) : refuse(404, 'NotFound', `${plural} "${name}" not found`)
    }
    const from = Number(token2 ?? 0)
    const limit = Number(url.searchParams.get('limit') ?? 0)
    const size = limit === 0 ? all.length : Math.min(limit, options.page ?? limit)
    // As the real one: items of a list say neither their kind nor their version.
    const items = all.slice(from, from + size).map(({ kind: _kind, apiVersion: _version, ...item }) => item)
    const next = from + size < all.length ? { continue: String(from + size) } : {}
    send(200, { kind: `${kind}List`, apiVersion, metadata: { resourceVersion: '1', ...next }, items })
  })
  server.on('upgrade', (req, socket) => {
    requests.push(req.url!)
    upgraded.add(socket)
    socket.on('close', () => upgraded.delete(socket))
    const refuse = (code: number, text: string) => {
      const body = JSON.stringify({ kind: 'Status', status: 'Failure', message: text, code })
      socket.end(
        `HTTP/1.1 ${code} No\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
    }
    const [, namespace, name] = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/portforward\?/.exec(req.url!) ?? []
    const known = options.items.some(({ kind, metadata }) => {
      const pod = metadata as Item
      return kind === 'Pod' && pod.name === name && pod.namespace === namespace
    })
    const token = `Bearer ${options.token ?? 'secret-token'}`
    if (req.headers.authorization !== token) refuse(401, 'Unauthorized')
    else if (options.forbidden?.includes('pods/portforward')) {
      refuse(403, `pods "${name}" is forbidden: User "reader" cannot get resource "pods/portforward"`)
    } else if (!known) refuse(404, `pods "${name}" not found`)
    else if (options.gone?.includes(name ?? '')) refuse(404, `pods "${name}" not found`)
    else if (options.forwarding) servePortForward(req, socket, options.forwarding)
    else refuse(500, 'no node')
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `https://localhost:${port}`,
    port,
    authority: authority.cert,
    client,
    requests,
    /** Connections to ports of pods that are open now. */
    forwarded: upgraded as ReadonlySet<Duplex>,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      for (const socket of upgraded) socket.destroy()
      await new Promise(done => server.close(done))
    },
  }
}

/** As much of label selectors as there is: `a=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`. */
function selects(selector: string, item: Item): boolean {
  const labels = ((item.metadata as Item).labels ?? {}) as Readonly<Record<string, string>>
  return selector.split(/,(?![^(]*\))/).every(part => {
    const [, label, operator, list] = /^(\S+) (in|notin) \((.*)\)$/.exec(part) ?? []
    if (label !== undefined) return list!.split(',').includes(labels[label] ?? '') === (operator === 'in')
    if (part.startsWith('!')) return !Object.hasOwn(labels, part.slice(1))
    const [key = '', value] = part.split('=')
    return value === undefined ? Object.hasOwn(labels, key) : labels[key] === value
  })
}

function groupList({ kinds }: KubeServerOptions) {
  const groups = Map.groupBy(
    Object.keys(kinds).filter(each => each.includes('/')),
    each => each.split('/')[0]!,
  )
  return {
    kind: 'APIGroupList',
    groups: [...groups].map(([name, versions]) => ({
      name,
      versions: versions.map(each => ({ groupVersion: each, version: each.split('/')[1] })),
    })),
  }
}

function resourceList(kinds: Readonly<Record<string, string>>) {
  return Object.entries(kinds).flatMap(([kind, name]) => [
    { name, kind, namespaced: !CLUSTER_WIDE.has(kind), verbs: ['get', 'list'] },
    { name: `${name}/status`, kind, namespaced: !CLUSTER_WIDE.has(kind), verbs: ['get'] },
  ])
}

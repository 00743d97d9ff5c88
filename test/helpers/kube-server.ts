import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createAuthority, createCertificate } from './certificates.ts'

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
  let busy = options.busy ?? 0
  let expired = false
  const server: Server = createServer({ cert, key, ca: authority.cert, requestCert: true, rejectUnauthorized: false })
  server.on('request', (req, res) => {
    requests.push(req.url!)
    const send = (status: number, body: object, headers = {}): void => {
      res.writeHead(status, { 'content-type': 'application/json', ...headers })
      res.end(JSON.stringify(body))
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
    const plural = rest.at(-1)!
    const kind = Object.keys(kinds).find(each => kinds[each] === plural)
    if (kind === undefined) return refuse(404, 'NotFound', 'the server could not find the requested resource')
    if (options.forbidden?.includes(plural)) {
      return refuse(403, 'Forbidden', `${plural} is forbidden: User "reader" cannot list resource "${plural}"`)
    }
    const token2 = url.searchParams.get('continue')
    if (token2 !== null && options.expires === plural && !expired) {
      expired = true
      return refuse(410, 'Expired', 'The provided continue parameter is too old')
    }
    const all = options.items.filter(
      item =>
        item.kind === kind &&
        item.apiVersion === apiVersion &&
        (namespace === undefined || (item.metadata as Item).namespace === namespace),
    )
    const from = Number(token2 ?? 0)
    const limit = Number(url.searchParams.get('limit') ?? 0)
    const size = limit === 0 ? all.length : Math.min(limit, options.page ?? limit)
    // As the real one: items of a list say neither their kind nor their version.
    const items = all.slice(from, from + size).map(({ kind: _kind, apiVersion: _version, ...item }) => item)
    const next = from + size < all.length ? { continue: String(from + size) } : {}
    send(200, { kind: `${kind}List`, apiVersion, metadata: { resourceVersion: '1', ...next }, items })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `https://localhost:${port}`,
    port,
    authority: authority.cert,
    client,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
  }
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

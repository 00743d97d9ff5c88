import { chmod, unlink } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { visible } from '../../diagnostics/visible.ts'
import { formFields } from '../../http/form-fields.ts'
import type { ListenAddress } from '../../http/listen-address.ts'
import { checkParameters, ParameterError } from './parameters.ts'
import { sendReply } from './send-reply.ts'
import type { AdminReply, AdminRequest, EndpointOptions } from './table.ts'
import { text } from './table.ts'

export interface Listening {
  /** With the actual port if 0 was configured: `127.0.0.1:15000`, `[::1]:15000`, `unix:/path`, or `off`. */
  readonly address: string
  /** Also closes open streams. */
  close(): Promise<void>
}

/** Deadline in ms for a request: idle clients must not hold connections. */
const REQUEST_TIMEOUT = 10_000
/** Open connections; the gateway's own connections need file descriptors too. */
const MAX_CONNECTIONS = 1024

/** Serves a table of paths on one address. Throws the error of `listen` if the address is unavailable. */
export async function listen(address: ListenAddress, endpoint: EndpointOptions): Promise<Listening> {
  if (address.kind === 'off') return { address: 'off', close: async () => {} }
  if (address.kind === 'unix') {
    await removeStaleSocket(address.path)
    const server = await open(endpoint, { path: address.path })
    await chmod(address.path, 0o600)
    return { address: `unix:${address.path}`, close: () => closeAll([server]) }
  }
  const [first = '127.0.0.1', ...others] = address.hosts
  const server = await open(endpoint, { host: first, port: address.port })
  const { port } = server.address() as AddressInfo
  const more = await Promise.all(others.map(host => openIfPossible(endpoint, { host, port })))
  const servers = [server, ...more.filter(other => other !== undefined)]
  return { address: `${first.includes(':') ? `[${first}]` : first}:${port}`, close: () => closeAll(servers) }
}

type Place = { readonly host: string; readonly port: number } | { readonly path: string }

function open(endpoint: EndpointOptions, place: Place): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(limitsOf(endpoint), (request, response) => {
      answer(endpoint, request, response).catch(() => response.destroy())
    })
    server.maxConnections = MAX_CONNECTIONS
    server.once('error', reject)
    server.listen(place, () => {
      server.off('error', reject)
      resolve(server)
    })
  })
}

function limitsOf({ requestTimeout = REQUEST_TIMEOUT }: EndpointOptions) {
  return { headersTimeout: requestTimeout, requestTimeout, connectionsCheckingInterval: requestTimeout / 4 }
}

/** A machine without IPv6 still has a localhost. */
async function openIfPossible(endpoint: EndpointOptions, place: Place): Promise<Server | undefined> {
  try {
    return await open(endpoint, place)
  } catch {
    return undefined
  }
}

async function closeAll(servers: readonly Server[]): Promise<void> {
  await Promise.all(
    servers.map(server => {
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      server.closeAllConnections()
      return closed
    }),
  )
}

/** A socket file outlives a killed process; if something still answers on it, it is in use. */
async function removeStaleSocket(path: string): Promise<void> {
  const stale = await new Promise<boolean>(resolve => {
    const probe = connect(path)
    probe.once('connect', () => {
      probe.destroy()
      resolve(false)
    })
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'))
  })
  if (stale) await unlink(path)
}

async function answer(endpoint: EndpointOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // No handler takes a body, and an unread one would block the connection.
  request.resume()
  const left = new AbortController()
  response.once('close', () => left.abort())
  await sendReply(await replyOf(endpoint, request, left.signal), request, response)
}

async function replyOf(endpoint: EndpointOptions, request: IncomingMessage, left: AbortSignal): Promise<AdminReply> {
  // Node.js exposes only one of two Host fields (RFC 9112 section 3.2).
  if ((request.headersDistinct.host?.length ?? 0) > 1) return text('there is more than one Host\n', 400)
  const refused = endpoint.refuse?.(request)
  if (refused !== undefined) return text(`${refused}\n`, 403)
  const target = request.url ?? '/'
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const found = endpoint.paths.find(entry => entry.path === path)
  if (found === undefined) {
    return text(
      `there is no ${visible(path.slice(0, 200))} here; paths: ${endpoint.paths.map(entry => entry.path).join(', ')}\n`,
      404,
    )
  }
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const known = found.methods.find(candidate => candidate === method)
  if (known === undefined) return methodNotAllowed(path, found.methods)
  const query = formFields(mark < 0 ? '' : target.slice(mark + 1))
  try {
    if (found.parameters) checkParameters(query, found.parameters)
    return await found.handler({ method: known, query, headers: request.headers, left })
  } catch (error) {
    if (error instanceof ParameterError) return text(`${error.message}\n`, 400)
    return text(`internal error: ${error instanceof Error ? error.message : String(error)}\n`, 500)
  }
}

export function methodNotAllowed(path: string, methods: readonly AdminRequest['method'][]): AdminReply {
  const allow = methods.includes('GET') ? ['HEAD', ...methods] : methods
  return { ...text(`${path} takes ${methods.join(' or ')}\n`, 405), headers: { allow: [...allow].sort().join(', ') } }
}

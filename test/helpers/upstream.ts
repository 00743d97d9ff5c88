import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, connect, type Server as NetServer } from 'node:net'
import type { Duplex } from 'node:stream'

export interface Upstream extends AsyncDisposable {
  readonly port: number
  /** `127.0.0.1:port`, as a `host` of the file. */
  readonly host: string
  readonly server: Server
  /** Connections accepted so far. */
  connections: number
}

/** A plain HTTP server on a free port of the loopback interface. */
export async function startUpstream(handler: (req: IncomingMessage, res: ServerResponse) => void): Promise<Upstream> {
  const server = createServer({ keepAliveTimeout: 60_000 }, handler)
  const upstream = {
    port: 0,
    host: '',
    server,
    connections: 0,
    [Symbol.asyncDispose]: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  server.on('connection', () => {
    upstream.connections++
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  upstream.port = (server.address() as AddressInfo).port
  upstream.host = `127.0.0.1:${upstream.port}`
  return upstream
}

export function portOf(server: NetServer): number {
  return (server.address() as AddressInfo).port
}

/** Answers what it was asked, as JSON. */
export function echo(req: IncomingMessage, res: ServerResponse): void {
  const chunks: Buffer[] = []
  req.on('data', chunk => chunks.push(chunk))
  req.on('end', () => {
    const body = JSON.stringify({
      method: req.method,
      url: req.url,
      headers: req.rawHeaders,
      body: Buffer.concat(chunks).toString(),
    })
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(body)
  })
}

/** A request whose list of values for a name is as many fields; resolves with the status when the answer is complete. */
export function sendRepeated(url: string, headers: OutgoingHttpHeaders, method = 'GET', body = ''): Promise<number> {
  return new Promise((resolve, reject) => {
    const req = request(url, { method, headers, agent: false }, res => {
      res.resume()
      res.on('end', () => resolve(res.statusCode ?? 0))
    })
    req.on('error', reject)
    req.end(body)
  })
}

/** Resolves when it is closed, in whichever way; what still comes is thrown away where nobody reads it. */
export function closeOf(socket: Duplex): Promise<void> {
  return new Promise(
    resolve =>
      void socket
        .on('error', () => {})
        .once('close', resolve)
        .resume(),
  )
}

/** Sends bytes as they are and reads until the other side closes. */
export function rawRequest(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(Number(port), hostname, () => socket.write(bytes, 'latin1'))
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
    socket.on('error', reject)
  })
}

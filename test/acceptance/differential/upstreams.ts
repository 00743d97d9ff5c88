import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server, createSecureServer, type Http2ServerRequest } from 'node:http2'
import { type AddressInfo, connect, type Socket, type Server as TcpServer } from 'node:net'
import { writeFrame } from '../../../src/llm/framing/event-stream-frames.ts'
import type { Certificate } from '../../helpers/certificates.ts'
import { type Case, lines, type UpstreamKind, type UpstreamReply } from './cases.ts'
import { startEnvoyUpstream } from './envoy-upstream.ts'

/** What an upstream has received. */
export interface Call {
  readonly to: string
  /** Request line. */
  readonly line: string
  /** `name: value` lines in order. */
  readonly headers: readonly string[]
  body: string
}

/** The servers behind the gateway. They note what they receive, and answer what the current request says. */
export class Upstreams implements AsyncDisposable {
  readonly addresses: Record<string, string> = {}
  readonly calls: Call[] = []
  #replies: readonly UpstreamReply[] = []
  #answered = 0
  readonly #servers: TcpServer[] = []
  readonly #services: AsyncDisposable[] = []
  readonly #sockets = new Set<Socket>()
  readonly #certificate: Certificate

  constructor(certificate: Certificate) {
    this.#certificate = certificate
  }

  async start(kinds: NonNullable<Case['upstreams']>): Promise<void> {
    for (const [name, kind] of Object.entries(kinds)) {
      if (kind === 'closed') {
        this.addresses[name] = '127.0.0.1:1'
        continue
      }
      if (kind === 'envoy') {
        const note = (call: Call) => this.calls.push(call)
        const services = await startEnvoyUpstream({ name, note, reply: () => this.#reply() })
        this.addresses[name] = services.host
        this.#services.push(services)
        continue
      }
      const server = this.#create(name, kind)
      server.on('connection', (socket: Socket) => {
        this.#sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => this.#sockets.delete(socket))
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      this.addresses[name] = `127.0.0.1:${(server.address() as AddressInfo).port}`
      this.#servers.push(server)
    }
  }

  /** Forgets the calls so far. */
  next(reply: UpstreamReply | readonly UpstreamReply[] | undefined): void {
    this.calls.length = 0
    this.#answered = 0
    this.#replies = reply === undefined ? [] : 'length' in reply ? reply : [reply]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all(this.#services.map(each => each[Symbol.asyncDispose]()))
    await Promise.all(this.#servers.map(server => new Promise(resolve => server.close(resolve))))
  }

  #create(name: string, kind: UpstreamKind): TcpServer {
    const answer = (req: IncomingMessage | Http2ServerRequest, res: unknown) =>
      this.#answer(name, req as IncomingMessage, res as ServerResponse)
    const { cert, key } = this.#certificate
    if (kind === 'http2') return createHttp2Server(answer)
    if (kind === 'tls') return createSecureServer({ cert, key, allowHTTP1: true }, answer)
    const server: Server = createServer({ keepAliveTimeout: 0 }, answer)
    server.on('upgrade', (req, socket, head) => {
      this.#note(name, req)
      const reply = this.#reply()
      const fields = ['connection: upgrade', `upgrade: ${req.headers.upgrade}`, ...(reply.headers ?? [])]
      socket.write(`HTTP/1.1 ${reply.status ?? 101} Switching\r\n${fields.join('\r\n')}\r\n\r\n`)
      socket.write(head)
      socket.pipe(socket)
    })
    server.on('connect', (req, socket) => {
      this.#note(name, req)
      const { status = 200 } = this.#reply()
      socket.on('error', () => {})
      socket.write(`HTTP/1.1 ${status} Answer\r\n\r\n`)
      if (status !== 200) {
        socket.end()
        return
      }
      const [host, port] = `${req.url}`.split(':')
      const target = connect(Number(port), host === 'secure.test' ? '127.0.0.1' : host)
      target.on('error', () => socket.destroy())
      socket.pipe(target).pipe(socket)
    })
    return server
  }

  #note(to: string, req: IncomingMessage): Call {
    const call = {
      to,
      line: `${req.method} ${req.url} HTTP/${req.httpVersion}`,
      headers: lines(req.rawHeaders),
      body: '',
    }
    this.calls.push(call)
    return call
  }

  #reply(url = ''): UpstreamReply {
    const fitting = this.#replies.find(({ path }) => path !== undefined && url.includes(path))
    if (fitting) return fitting
    const rest = this.#replies.filter(({ path }) => path === undefined)
    return rest[Math.min(this.#answered++, rest.length - 1)] ?? {}
  }

  #answer(name: string, req: IncomingMessage, res: ServerResponse): void {
    const call = this.#note(name, req)
    const reply = this.#reply(req.url)
    const chunks: Buffer[] = []
    req.on('error', () => {})
    req.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      call.body = Buffer.concat(chunks).toString('latin1')
    })
    if (reply.instead === 'reset') {
      req.socket.destroy()
      return
    }
    req.on('end', () => {
      if (reply.instead === 'silence') return
      if (reply.raw !== undefined) {
        req.socket.end(reply.raw, 'latin1')
        return
      }
      if (reply.after === undefined) send(res, reply, name)
      else setTimeout(() => send(res, reply, name), reply.after)
    })
  }
}

function send(res: ServerResponse, reply: UpstreamReply, name: string): void {
  const body = reply.frames
    ? Buffer.concat(reply.frames.map(([event, content]) => writeFrame(event, JSON.stringify(content))))
    : (reply.body ?? name)
  const headers: Record<string, string | string[]> = {}
  const given = reply.headers ?? ['content-type: text/plain']
  const length = reply.status === 304 ? [] : [`content-length: ${Buffer.byteLength(body)}`]
  for (const line of [...given, ...length]) {
    const at = line.indexOf(': ')
    const key = line.slice(0, at)
    const before = headers[key]
    headers[key] = before === undefined ? line.slice(at + 2) : [before, line.slice(at + 2)].flat()
  }
  res.sendDate = false
  res.writeHead(reply.status ?? 200, headers)
  res.end(body)
}

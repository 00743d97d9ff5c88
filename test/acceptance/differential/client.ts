import { Agent, request } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type CaseRequest, lines } from './cases.ts'

export interface Reply {
  /** 0: the connection ended without an answer. */
  readonly status: number
  /** `name: value` lines in order. */
  readonly headers: readonly string[]
  readonly body: string
}

/** ms that a connection may be silent. */
const LONGEST = 10_000
const NOTHING: Reply = { status: 0, headers: [], body: '' }

/** Sends one request over a connection of its own; several replies only where raw bytes asked for them. */
export async function send(to: CaseRequest, port: number): Promise<readonly Reply[]> {
  if (to.raw !== undefined) return sendRaw(to.raw, port)
  const body = typeof to.body === 'object' ? to.body.repeat.repeat(to.body.times) : to.body
  return [await (to.http === 2 ? sendHttp2(to, port, body) : sendHttp1(to, port, body))]
}

function sendHttp1(to: CaseRequest, port: number, body: string | undefined): Promise<Reply> {
  const { promise, resolve } = Promise.withResolvers<Reply>()
  const agent = Object.assign(new Agent(), { createConnection: () => open(to, port) })
  const req = request({
    method: to.method ?? 'GET',
    path: to.path ?? '/',
    headers: fields(to, body).flat(),
    setDefaultHeaders: false,
    agent,
  })
  req.on('response', res => {
    const chunks: Buffer[] = []
    const reply = (): Reply => ({
      status: res.statusCode ?? 0,
      headers: lines(res.rawHeaders),
      body: Buffer.concat(chunks).toString('latin1'),
    })
    res.on('data', (chunk: Buffer) => chunks.push(chunk))
    res.on('end', () => resolve(reply()))
    res.on('error', () => resolve({ ...reply(), body: `${reply().body}<cut off>` }))
  })
  req.on('upgrade', async (res, socket: Socket, head) => {
    const sent = to.upgraded ?? ''
    socket.write(sent)
    let received = head
    while (received.length < sent.length) received = Buffer.concat([received, await nextChunk(socket)])
    resolve({ status: res.statusCode ?? 0, headers: lines(res.rawHeaders), body: received.toString('latin1') })
  })
  req.on('timeout', () => req.destroy())
  req.on('error', () => resolve(NOTHING))
  req.end(body)
  return promise.finally(() => req.destroy())
}

function nextChunk(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    socket.once('data', resolve)
    socket.once('close', () => reject(new Error('the upgraded connection ended early')))
  })
}

function open(to: CaseRequest, port: number): Socket {
  if (to.sni === undefined) return connect({ port, host: '127.0.0.1', timeout: LONGEST })
  return connectTls({ port, host: '127.0.0.1', servername: to.sni, rejectUnauthorized: false })
}

export function fields(to: CaseRequest, body: string | undefined): [string, string][] {
  const all = (to.headers ?? []).map((line): [string, string] => {
    const at = line.indexOf(':')
    return [line.slice(0, at), line.slice(at + 1).trim()]
  })
  const has = (name: string) => all.some(([each]) => each.toLowerCase() === name)
  if (!has('host') && to.http !== 2) all.unshift(['host', 'gateway.test'])
  if (body !== undefined && !has('content-length') && !has('transfer-encoding'))
    all.push(['content-length', String(Buffer.byteLength(body))])
  return all
}

function sendHttp2(to: CaseRequest, port: number, body: string | undefined): Promise<Reply> {
  const { promise, resolve } = Promise.withResolvers<Reply>()
  const all = fields(to, body)
  const host = all.find(([name]) => name === 'host')?.[1] ?? 'gateway.test'
  const session = connectHttp2(`${to.sni === undefined ? 'http' : 'https'}://${host}`, {
    createConnection: () =>
      to.sni === undefined
        ? connect(port, '127.0.0.1')
        : connectTls({ port, host: '127.0.0.1', servername: to.sni, rejectUnauthorized: false, ALPNProtocols: ['h2'] }),
  })
  session.on('error', () => resolve(NOTHING))
  const headers: Record<string, string> = { ':method': to.method ?? 'GET', ':path': to.path ?? '/', ':authority': host }
  for (const [name, value] of all) if (name !== 'host') headers[name] = value
  const stream = session.request(headers, { endStream: body === undefined })
  let reply = NOTHING
  const chunks: Buffer[] = []
  stream.on('response', (head, _flags, raw) => {
    const own = lines(raw ?? []).filter(line => !line.startsWith(':'))
    reply = { status: Number(head[':status']), headers: own, body: '' }
  })
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream.on('error', () => {})
  stream.on('close', () => resolve({ ...reply, body: Buffer.concat(chunks).toString('latin1') }))
  if (body !== undefined) stream.end(body)
  return promise.finally(() => session.destroy())
}

function sendRaw(bytes: string, port: number): Promise<readonly Reply[]> {
  const { promise, resolve } = Promise.withResolvers<readonly Reply[]>()
  const chunks: Buffer[] = []
  const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'))
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => {})
  socket.setTimeout(LONGEST, () => socket.destroy())
  socket.on('close', () => resolve(readReplies(Buffer.concat(chunks).toString('latin1'))))
  return promise
}

/** The replies that a connection has carried. */
function readReplies(text: string): Reply[] {
  const replies: Reply[] = []
  for (let rest = text; rest.length > 0; ) {
    const end = rest.indexOf('\r\n\r\n')
    const [first = '', ...headers] = rest.slice(0, end).split('\r\n')
    const status = Number(first.split(' ')[1])
    rest = rest.slice(end + 4)
    const length = headers.map(line => /^content-length: (\d+)$/i.exec(line)?.[1]).find(each => each !== undefined)
    const chunked = headers.some(line => /^transfer-encoding: chunked$/i.test(line))
    const size = length !== undefined ? Number(length) : chunked ? rest.indexOf('0\r\n\r\n') + 5 : rest.length
    replies.push({ status, headers, body: rest.slice(0, size) })
    rest = rest.slice(size)
  }
  return replies.length > 0 ? replies : [NOTHING]
}

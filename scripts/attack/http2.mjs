import { once } from 'node:events'
import { connect } from 'node:http2'
import { connect as connectTcp } from 'node:net'

/** @type {readonly import('./areas.mjs').Attack[]} */
export const http2 = [
  {
    name: 'an extended CONNECT (RFC 8441) with `:protocol` `h2c`, whose DATA reaches the backend raw',
    defends: 'answered 501: only `websocket` is passed on',
    async run({ start, backend, holds }) {
      const upstream = await backend()
      const gateway = await start(
        port => `binds: [{port: ${port}, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]`,
      )
      const protocols = ['h2c', 'H2C', 'tcp', 'TLS/1.0', 'connect-udp', 'websocket, h2c']
      for (const each of protocols) {
        const status = await extendedConnect(gateway.port, each)
        holds(status === 501 || status === 400, `\`${each}\` is answered ${status}`)
      }
      holds(upstream.requests.length === 0, `${upstream.requests.length} requests reached the backend`)
      return `${protocols.length} of ${protocols.length} refused`
    },
  },
  {
    name: 'a head of 70 to 140 KB, which could be refused without a trace',
    defends: 'answered 431, with a record',
    async run({ start, holds }) {
      const gateway = await start(
        port => `binds: [{port: ${port}, listeners: [{routes: [{policies: {directResponse: {status: 200}}}]}]}]`,
      )
      for (const fields of [2, 4]) {
        const large = Object.fromEntries(Array.from({ length: fields }, (_, i) => [`x-${i}`, 'a'.repeat(35_000)]))
        const status = await statusOf(gateway.port, { ':path': '/', ...large })
        holds(status === 431, `${fields} fields of 35,000 bytes are answered ${status}`)
      }
      return '2 of 2 answered 431'
    },
  },
  {
    name: 'a GOAWAY with a stream open, then frames that break the protocol, so that the connection stays for ever',
    defends: 'a connection that is closing and acknowledges nothing for 20 seconds is cut off',
    async run({ start, backend, holds }) {
      const upstream = await backend(() => {})
      const gateway = await start(
        port => `binds: [{port: ${port}, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]`,
      )
      const before = gateway.sockets()
      for (let i = 0; i < 40; i++) await Promise.all(STRAYS.map(stray => leave(gateway.port, stray)))
      const opened = 40 * STRAYS.length
      const until = Date.now() + 90_000
      while (gateway.sockets() > before && Date.now() < until) await new Promise(resolve => setTimeout(resolve, 500))
      const left = gateway.sockets() - before
      holds(left <= 0, `${left} sockets are left of ${opened} connections`)
      return `${opened} connections, none left`
    },
  },
  {
    name: 'Bodies in frames of one byte that wait behind a slow policy, each of which would take a hundred times its size',
    defends: 'small frames that nobody reads are joined: what a body takes is near to what is counted',
    async run({ start, backend, holds }) {
      const upstream = await backend()
      const gateway = await start(
        port =>
          `binds: [{port: ${port}, listeners: [{routes: [{policies: {delay: {duration: 60s}}, backends: [{host: '${upstream.host}'}]}]}]}]`,
      )
      const before = gateway.memory()
      const sockets = []
      for (let i = 0; i < 4; i++) sockets.push(await sendBytewise(gateway.port, 20, 60_000))
      await new Promise(resolve => setTimeout(resolve, 2000))
      const grown = Math.round((gateway.memory() - before) / 2 ** 20)
      for (const socket of sockets) socket.destroy()
      holds(grown < 192, `80 bodies of 60,000 bytes make resident memory grow by ${grown} MiB`)
      return `80 bodies of 60,000 bytes, resident memory grew by ${grown} MiB`
    },
  },
]

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
/** Method, scheme and path by their index, the authority as it is. */
const GET = Buffer.concat([Buffer.from([0x82, 0x86, 0x84, 0x41, 6]), Buffer.from('a.test')])
const POST = Buffer.concat([Buffer.from([0x83]), GET.subarray(1)])
/** DATA without a stream, a CONTINUATION of nothing, a head that is not HPACK, a frame over the size. */
const STRAYS = [
  frame(0, 0, 0, Buffer.alloc(0)),
  frame(9, 4, 3, Buffer.alloc(1)),
  frame(1, 5, 3, Buffer.alloc(6, 0xff)),
  frame(0, 0, 1, Buffer.alloc(70_000)),
]

function frame(type, flags, stream, payload) {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Opens so many streams and sends `size` bytes on each, one a frame; resolves when they have left this end. */
async function sendBytewise(port, streams, size) {
  const socket = connectTcp(port, '127.0.0.1').on('error', () => {})
  socket.resume()
  socket.write(Buffer.concat([PREFACE, frame(4, 0, 0, Buffer.alloc(0))]))
  const ids = Array.from({ length: streams }, (_, i) => 2 * i + 1)
  socket.write(Buffer.concat(ids.map(id => frame(1, 4, id, POST))))
  for (const id of ids) {
    const one = frame(0, 0, id, Buffer.from('x'))
    const all = Buffer.alloc(one.length * size)
    for (let at = 0; at < all.length; at += one.length) one.copy(all, at)
    if (!socket.write(all)) await Promise.race([once(socket, 'drain'), once(socket, 'close')])
  }
  return socket
}

/** Asks, waits until that has been read, says goodbye, sends `stray`, and is gone. */
async function leave(port, stray) {
  const socket = connectTcp(port, '127.0.0.1').on('error', () => {})
  socket.write(Buffer.concat([PREFACE, frame(4, 0, 0, Buffer.alloc(0)), frame(1, 5, 1, GET)]))
  await once(socket, 'data')
  socket.write(Buffer.concat([frame(7, 0, 0, Buffer.alloc(8)), stray]))
  await new Promise(resolve => setTimeout(resolve, 50))
  socket.destroy()
}

function extendedConnect(port, protocol) {
  return statusOf(port, {
    ':method': 'CONNECT',
    ':protocol': protocol,
    ':scheme': 'http',
    ':path': '/',
    ':authority': 'a.test',
  })
}

/** Undefined: the stream was reset. */
function statusOf(port, head) {
  const client = connect(`http://127.0.0.1:${port}`, { maxSendHeaderBlockLength: 1_000_000 })
  return new Promise(resolve => {
    client.on('error', () => resolve(undefined))
    client.once('remoteSettings', () => {
      const stream = client.request(head, { endStream: false })
      stream.on('response', headers => resolve(headers[':status']))
      stream.on('error', () => resolve(undefined)).on('close', () => resolve(undefined))
      stream.write('GET /raw HTTP/1.1\r\nHost: a\r\n\r\n')
    })
  }).finally(() => client.destroy())
}

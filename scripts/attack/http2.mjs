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
]

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

/** Asks, waits until that has been read, says goodbye, sends `stray`, and is gone. */
async function leave(port, stray) {
  const socket = connectTcp(port, '127.0.0.1').on('error', () => {})
  // Method, scheme and path by their index, the authority as it is.
  const head = Buffer.concat([Buffer.from([0x82, 0x86, 0x84, 0x41, 6]), Buffer.from('a.test')])
  const settings = frame(4, 0, 0, Buffer.alloc(0))
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), settings, frame(1, 5, 1, head)]))
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

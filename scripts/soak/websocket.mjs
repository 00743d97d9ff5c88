// node scripts/soak/websocket.mjs [--messages 100000]: echo of so many messages through one WebSocket, over HTTP/1.1, TLS
// and HTTP/2 (RFC 8441). Exits with 1 when one is lost or changed, or when the gateway keeps memory.
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { parseArgs } from 'node:util'
import { createAuthority, createCertificate } from '../../test/helpers/certificates.ts'
import { FrameReader, frame, startWebSocketServer } from '../../test/helpers/websocket.ts'
import { freePort, mb, startGatewayProcess, watchHeap } from './gateway-process.mjs'

const { values } = parseArgs({ options: { messages: { type: 'string', default: '100000' } } })
const messages = Number(values.messages)
/** MB that the floor of the heap may rise. */
const SLACK = 4
const HANDSHAKE =
  'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n'

async function switched(socket) {
  socket.write(HANDSHAKE)
  let head = ''
  while (!head.includes('\r\n\r\n')) head += String((await once(socket, 'data'))[0])
  if (!head.startsWith('HTTP/1.1 101 ')) throw new Error(head)
  return socket
}

async function overHttp2(port) {
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  await once(session, 'remoteSettings')
  const stream = session.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':path': '/',
    ':scheme': 'http',
    ':authority': 'localhost',
    'sec-websocket-version': '13',
  })
  stream.on('close', () => session.close())
  await once(stream, 'response')
  return stream
}

/** Numbered messages of 4 to 4000 bytes; how many came back as they went, and in their order. */
async function echo(socket) {
  const frames = new FrameReader()
  let back = 0
  let wrong = 0
  const done = new Promise(resolve => {
    socket.on('data', chunk => {
      for (const { payload } of frames.read(chunk)) {
        if (payload.readUInt32BE(0) !== back || payload.length !== sizeOf(back)) wrong++
        back++
      }
      if (back === messages) resolve()
    })
    socket.on('close', resolve)
  })
  for (let i = 0; i < messages; i++) {
    const payload = Buffer.alloc(sizeOf(i), i)
    payload.writeUInt32BE(i, 0)
    if (!socket.write(frame(payload, { masked: true }))) await once(socket, 'drain')
  }
  await done
  socket.end()
  return { back, wrong }
}

const sizeOf = i => 4 + ((i * 37) % 3997)

async function main() {
  await using server = await startWebSocketServer()
  const { cert, key } = createCertificate(createAuthority('soak'), ['localhost'])
  const [plain, secure] = [await freePort(), await freePort()]
  const routes = `routes: [{backends: [{host: '${server.host}'}]}]`
  await using gateway = await startGatewayProcess(
    `binds: [{port: ${plain}, listeners: [{${routes}}]}, {port: ${secure}, listeners: [{protocol: HTTPS, tls: {cert: cert.pem, key: key.pem}, ${routes}}]}]`,
    { files: { 'cert.pem': cert, 'key.pem': key } },
  )
  const ways = {
    'HTTP/1.1': () => switched(connect(plain, '127.0.0.1')),
    TLS: () => switched(connectTls({ port: secure, host: '127.0.0.1', rejectUnauthorized: false })),
    'HTTP/2': () => overHttp2(plain),
  }
  for (const [way, open] of Object.entries(ways)) {
    const socket = await open()
    const heap = watchHeap(gateway)
    const started = performance.now()
    const { back, wrong } = await echo(socket)
    const seconds = (performance.now() - started) / 1000
    const { early, late } = await heap.stop()
    const { rss } = (await gateway.memory()).process
    console.log(
      `${way}: ${back} of ${messages} came back, ${wrong} wrong, ${seconds.toFixed(1)} s; floor of the heap ${mb(early)} in the second third, ${mb(late)} in the last; resident ${mb(rss)}`,
    )
    if (back !== messages || wrong > 0 || (late - early) / 2 ** 20 > SLACK) process.exitCode = 1
  }
}

await main()

// node messages.ts PORT CONNECTIONS SECONDS: one message of WebSocket at a time on each connection, sent when the last one
// is back. Prints what wrk's script prints.
import { connect } from 'node:net'

const [port, connections, seconds] = process.argv.slice(2).map(Number) as [number, number, number]
/** A final binary frame of 256 bytes under a mask of zeros. */
const FRAME = Buffer.concat([Buffer.of(0x82, 0xfe, 1, 0, 0, 0, 0, 0), Buffer.alloc(256, 'x')])
const HEAD =
  'GET /ws HTTP/1.1\r\nHost: bench.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n'

const times: number[] = []
let errors = 0
const started = performance.now()
const until = started + seconds * 1000
await Promise.all(
  Array.from({ length: connections }, async () => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await new Promise(done => {
      let sentAt = 0
      let missing = -1
      socket.on('data', chunk => {
        if (missing < 0 && !/^HTTP\/1\.1 101 .*\r\n\r\n$/s.test(chunk.toString('latin1'))) errors++
        else if (missing > chunk.length) {
          missing -= chunk.length
          return
        } else if (missing >= 0) times.push(performance.now() - sentAt)
        if (errors > 0 || performance.now() >= until) {
          socket.destroy()
          return
        }
        missing = FRAME.length
        sentAt = performance.now()
        socket.write(FRAME)
      })
      socket.on('error', () => errors++).on('close', done)
      socket.write(HEAD)
    })
  }),
)
times.sort((a, b) => a - b)
const at = (share: number): number => Math.round((times[Math.floor(times.length * share)] ?? 0) * 1000)
const duration = Math.round((performance.now() - started) * 1000)
const result = { requests: times.length, duration, errors, p50: at(0.5), p99: at(0.99) }
process.stdout.write(`RESULT ${JSON.stringify(result)}\n`)

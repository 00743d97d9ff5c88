import { createServer } from 'node:http'
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2'

const [http2Port, echoPort] = process.argv.slice(2).map(Number)
/** A gRPC message of 100 bytes. */
const MESSAGE = Buffer.concat([Buffer.of(0, 0, 0, 0, 100), Buffer.alloc(100, 'x')])
/**
 * Allows every request and counts none: `CheckResponse` with a status, `RateLimitResponse` with OK. The others are the
 * calls of the workloads over gRPC.
 */
const ANSWERS: Readonly<Record<string, readonly Buffer[]>> = {
  '/envoy.service.auth.v3.Authorization/Check': [Buffer.of(0, 0, 0, 0, 2, 0x0a, 0x00)],
  '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit': [Buffer.of(0, 0, 0, 0, 2, 0x08, 0x01)],
  '/bench.Calls/Unary': [MESSAGE],
  '/bench.Calls/Stream': Array.from({ length: 50 }, () => MESSAGE),
}

createHttp2Server()
  .on('stream', (stream: ServerHttp2Stream, headers) => {
    const answer = ANSWERS[headers[':path'] ?? '']
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': answer ? '0' : '12' }))
    stream.resume().on('error', () => {})
    for (const message of answer ?? []) stream.write(message)
    stream.end()
  })
  .listen(http2Port, '127.0.0.1')

// Sends back what comes after an upgrade: proxies pass the frames of WebSocket on as they are.
createServer()
  .on('upgrade', (_request, socket) => {
    socket.on('error', () => {})
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n')
    socket.write('Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n')
    socket.pipe(socket)
  })
  .listen(echoPort, '127.0.0.1')

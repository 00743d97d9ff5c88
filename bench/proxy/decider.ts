import { createServer, type ServerHttp2Stream } from 'node:http2'

/** Allows every request and counts none: `CheckResponse` with a status, `RateLimitResponse` with OK. */
const ANSWERS: Readonly<Record<string, Buffer>> = {
  '/envoy.service.auth.v3.Authorization/Check': Buffer.of(0, 0, 0, 0, 2, 0x0a, 0x00),
  '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit': Buffer.of(0, 0, 0, 0, 2, 0x08, 0x01),
}

createServer()
  .on('stream', (stream: ServerHttp2Stream, headers) => {
    const answer = ANSWERS[headers[':path'] ?? '']
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': answer ? '0' : '12' }))
    stream.resume().on('error', () => {})
    stream.end(answer)
  })
  .listen(Number(process.argv[2]), '127.0.0.1')

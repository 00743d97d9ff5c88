import { once } from 'node:events'
import { connect, createServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { startGateway } from '../../helpers/gateway.ts'
import { until } from './until.ts'

test('reads the gRPC status from trailers or headers', async () => {
  const upstream = createServer()
  upstream.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.resume()
    if (headers[':path'] === '/svc/Refused') {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '7' }, { endStream: true })
      return
    }
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '5' }))
    stream.end(Buffer.from([0, 0, 0, 0, 0]))
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const text = `
frontendPolicies: {accessLog: {add: {own: response.grpcStatus}}}
binds: [{port: 3000, listeners: [{routes: [{backends: [{host: "127.0.0.1:${(upstream.address() as AddressInfo).port}"}]}]}]}]`
  await using gateway = await startGateway(text)
  const client = connect(gateway.url(3000))
  for (const path of ['/svc/Missing', '/svc/Refused']) {
    const call = client.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    call.resume()
    call.end(Buffer.from([0, 0, 0, 0, 0]))
    await once(call, 'close')
  }
  client.close()
  await until(() => gateway.logged.join('').split('duration=').length === 3)
  const [missing, refused] = gateway.logged.join('').split('\n')
  expect(missing).toMatch(
    / http\.version=HTTP\/2\.0 http\.status=200 grpc\.status=5 protocol=http duration=\d+ms own=5$/,
  )
  expect(refused).toMatch(/ http\.path=\/svc\/Refused .* grpc\.status=7 protocol=http duration=\d+ms own=7$/)
  upstream.close()
})

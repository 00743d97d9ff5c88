import { request } from 'node:http'
import { connect, createServer, type ServerHttp2Stream } from 'node:http2'
import { expect, test } from 'vitest'
import { type Plain, type ProcessCall, startEnvoyServices } from '../../helpers/envoy-services.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { portOf, startUpstream } from '../../helpers/upstream.ts'
import { pass, set } from './ext-proc-fixture.ts'

/** What the client sends behind its body; the last three belong in the head, or stand there. */
const TRAILERS = {
  'x-sum': '1',
  'x-secret': 's',
  authorization: 'Bearer x',
  'x-forwarded-for': '::1',
  'x-user': 'root',
}
const HEAD = { 'x-user': 'ann' }

const change = (request: Plain, call: ProcessCall) => {
  if (!request.requestTrailers) return pass(request, call)
  const headerMutation = { setHeaders: [set('x-sum', '2'), set('x-more', '3')], removeHeaders: ['x-secret'] }
  call.write({ requestTrailers: { headerMutation } })
}

const configOf = (backend: string, service: string, modes: string) => `
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${backend}'}], policies: {
  extProc: {host: '${service}', processingOptions: {responseBodyMode: none, ${modes}}}}}]}]}]`

test.each([
  ['send, requestBodyMode: none', { 'x-sum': '2', 'x-more': '3' }, ['x-sum', 'x-secret']],
  ['send, requestBodyMode: buffered', { 'x-sum': '2', 'x-more': '3' }, ['x-sum', 'x-secret']],
  ['send, requestBodyMode: bufferedPartial', { 'x-sum': '2', 'x-more': '3' }, ['x-sum', 'x-secret']],
  ['skip, requestBodyMode: none', {}, undefined],
  ['send', { 'x-sum': '2', 'x-more': '3' }, ['x-sum', 'x-secret']],
  ['skip', {}, undefined],
])('request trailers over HTTP/1.1, with %s', async (mode, expected, asked) => {
  await using service = await startEnvoyServices({ process: change })
  await using backend = await startUpstream((req, res) => {
    req.resume().on('end', () => res.end(JSON.stringify(req.trailers)))
  })
  await using gateway = await startGateway(configOf(backend.host, service.host, `requestTrailerMode: ${mode}`))
  expect(JSON.parse(await overHttp1(gateway))).toEqual(expected)
  const trailers = service.asked.find(each => each.requestTrailers)?.requestTrailers?.trailers
  expect(trailers?.headers?.map(({ key }: Plain) => key)).toEqual(asked)
  // Only the last message says that it is.
  const bodies = service.asked.flatMap(each => each.requestBody ?? [])
  if (asked) expect(bodies.some(({ endOfStream }: Plain) => endOfStream)).toBe(false)
})

test('request trailers over HTTP/2, also if the service ignores them or ends the body itself', async () => {
  const answers = [change, pass, endingEarly]
  await using service = await startEnvoyServices({ process: (asked, call) => answers[0]?.(asked, call) })
  const server = createServer().on('stream', (stream: ServerHttp2Stream) => {
    let trailers = {}
    stream.on('trailers', fields => {
      trailers = fields
    })
    stream.resume().on('end', () =>
      setImmediate(() => {
        stream.respond({ ':status': 200 })
        stream.end(JSON.stringify(trailers))
      }),
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  await using gateway = await startGateway(configOf(`127.0.0.1:${portOf(server)}`, service.host, ''))
  const seen: unknown[] = []
  for (; answers.length > 0; answers.shift()) seen.push(JSON.parse(await overHttp2(gateway)))
  expect(seen).toEqual([{ 'x-sum': '2', 'x-more': '3' }, { 'x-sum': '1', 'x-secret': 's' }, {}])
  server.close()
})

function endingEarly(asked: Plain, call: ProcessCall): void {
  if (asked.requestTrailers)
    call.write({ requestBody: { response: { bodyMutation: { streamedResponse: { endOfStream: true } } } } })
  else pass(asked, call)
}

function overHttp1(gateway: TestGateway): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const headers = { ...HEAD, trailer: Object.keys(TRAILERS).join() }
  const sent = request(gateway.url(8080), { method: 'POST', headers }, async response => {
    let text = ''
    for await (const chunk of response) text += chunk
    resolve(text)
  })
  sent.on('error', reject).write('body')
  sent.addTrailers(TRAILERS)
  sent.end()
  return promise
}

async function overHttp2(gateway: TestGateway): Promise<string> {
  const session = connect(gateway.url(8080))
  const stream = session.request({ ':method': 'POST', ...HEAD }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers(TRAILERS)).end('body')
  let text = ''
  for await (const chunk of stream) text += chunk
  session.close()
  return text
}

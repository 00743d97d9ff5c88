import {
  Client,
  type ClientDuplexStream,
  credentials,
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'

const bytes = { serialize: (value: Buffer) => value, deserialize: (value: Buffer) => value }
const method = (path: string, requestStream: boolean, responseStream: boolean) => ({
  path,
  requestStream,
  responseStream,
  requestSerialize: bytes.serialize,
  requestDeserialize: bytes.deserialize,
  responseSerialize: bytes.serialize,
  responseDeserialize: bytes.deserialize,
})
const service: ServiceDefinition = {
  unary: method('/test.Echo/Unary', false, false),
  count: method('/test.Echo/Count', false, true),
  chat: method('/test.Echo/Chat', true, true),
  collect: method('/test.Echo/Collect', true, false),
  never: method('/test.Echo/Never', false, true),
}

const unary: handleUnaryCall<Buffer, Buffer> = (call, done) => {
  const metadata = new Metadata()
  metadata.set('x-end', 'unary')
  const text = call.request.toString()
  if (text === 'fail') done({ code: status.FAILED_PRECONDITION, details: 'no – not now', metadata })
  else done(null, Buffer.from(`${text}:${call.metadata.get('x-sent')[0] ?? ''}`), metadata)
}
const count: handleServerStreamingCall<Buffer, Buffer> = call => {
  for (let i = 0; i < Number(call.request.toString()); i++) call.write(Buffer.alloc(1000, i))
  const metadata = new Metadata()
  metadata.set('x-end', 'count')
  call.end(metadata)
}
const chat: handleBidiStreamingCall<Buffer, Buffer> = call => {
  call.on('data', (message: Buffer) => call.write(Buffer.from(`<${message}>`)))
  call.on('end', () => call.end())
}

const collect: handleClientStreamingCall<Buffer, Buffer> = (call, done) => {
  let size = 0
  call.on('data', (message: Buffer) => {
    size += message.length
  })
  call.on('end', () => done(null, Buffer.from(String(size))))
}
/** Calls that never end by themselves. `cancelled`: that were cut off, or whose time was over. */
const seen = { begun: 0, cancelled: 0 }
const never: handleServerStreamingCall<Buffer, Buffer> = call => {
  seen.begun++
  call.on('cancelled', () => {
    seen.cancelled++
  })
  if (call.request.toString() === 'begin') call.write(Buffer.from('first'))
}

let backend: Server
let host: string
beforeAll(async () => {
  backend = new Server()
  backend.addService(service, { unary, count, chat, collect, never })
  host = await new Promise((resolve, reject) =>
    backend.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(`127.0.0.1:${port}`),
    ),
  )
})
afterAll(() => backend.forceShutdown())

const authority = createAuthority('test authority')
const server = createCertificate(authority, ['localhost'])
const files = { 'server.pem': server.cert, 'server.key': server.key }

describe.each(['plaintext', 'TLS'])('over %s', kind => {
  let gateway: TestGateway
  let client: Client
  beforeAll(async () => {
    const tls = kind === 'TLS' ? 'protocol: HTTPS, tls: {cert: server.pem, key: server.key}, ' : ''
    gateway = await startGateway(
      `binds: [{port: 8080, listeners: [{${tls}routes: [{matches: [{path: {pathPrefix: /test.Echo}}], backends: [{host: '${host}'}]}]}]}]`,
      { files },
    )
    client = new Client(
      `127.0.0.1:${gateway.gateway.portOf(8080)}`,
      kind === 'TLS' ? credentials.createSsl(Buffer.from(authority.cert)) : credentials.createInsecure(),
      { 'grpc.ssl_target_name_override': 'localhost', 'grpc.default_authority': 'localhost' },
    )
  })
  afterAll(async () => {
    client.close()
    await gateway[Symbol.asyncDispose]()
  })

  const call = (path: string, request: string) =>
    new Promise<{ reply?: string; error?: ServiceError; trailers: Metadata }>(resolve => {
      const metadata = new Metadata()
      metadata.set('x-sent', 'yes')
      let outcome: { reply?: string; error?: ServiceError } = {}
      client
        .makeUnaryRequest(path, bytes.serialize, bytes.deserialize, Buffer.from(request), metadata, (error, reply) => {
          outcome = error ? { error } : { reply: String(reply) }
        })
        .on('status', ({ metadata: trailers }) => setImmediate(() => resolve({ ...outcome, trailers })))
    })

  test('a unary call returns its response and trailers', async () => {
    const { reply, trailers } = await call('/test.Echo/Unary', 'hello')
    expect([reply, trailers.get('x-end')]).toEqual(['hello:yes', ['unary']])
  })

  test('an error keeps its code, message and trailers', async () => {
    const { error, trailers } = await call('/test.Echo/Unary', 'fail')
    expect([error?.code, error?.details, trailers.get('x-end')]).toEqual([
      status.FAILED_PRECONDITION,
      'no – not now',
      ['unary'],
    ])
  })

  test('a method unknown to the backend and a path unknown to the gateway are both UNIMPLEMENTED', async () => {
    expect((await call('/test.Echo/None', '')).error?.code).toBe(status.UNIMPLEMENTED)
    const { error } = await call('/other.Service/Any', '')
    expect([error?.code, error?.details]).toEqual([status.UNIMPLEMENTED, 'route not found'])
  })

  test('a response stream arrives complete and in order, even at a slow reader', async () => {
    const stream = client.makeServerStreamRequest(
      '/test.Echo/Count',
      bytes.serialize,
      bytes.deserialize,
      Buffer.from('3000'),
    )
    let seen = 0
    let trailers: Metadata | undefined
    stream.on('status', ended => {
      trailers = ended.metadata
    })
    for await (const message of stream as AsyncIterable<Buffer>) {
      expect(message[0]).toBe(seen % 256)
      seen++
      if (seen % 500 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    expect([seen, trailers?.get('x-end')]).toEqual([3000, ['count']])
  })

  test('both sides can send at the same time', async () => {
    const stream: ClientDuplexStream<Buffer, Buffer> = client.makeBidiStreamRequest(
      '/test.Echo/Chat',
      bytes.serialize,
      bytes.deserialize,
    )
    const replies: string[] = []
    stream.write(Buffer.from('0'))
    for await (const message of stream as AsyncIterable<Buffer>) {
      replies.push(String(message))
      if (replies.length < 5) stream.write(Buffer.from(String(replies.length)))
      else stream.end()
    }
    expect(replies).toEqual(['<0>', '<1>', '<2>', '<3>', '<4>'])
  })

  test('a request stream arrives complete, at the backend’s pace', async () => {
    const size = await new Promise<string>((resolve, reject) => {
      const stream = client.makeClientStreamRequest(
        '/test.Echo/Collect',
        bytes.serialize,
        bytes.deserialize,
        (error, reply) => (error ? reject(error) : resolve(String(reply))),
      )
      let left = 2000
      const more = (): void => {
        while (left > 0) {
          left--
          if (!stream.write(Buffer.alloc(1500, left))) {
            stream.once('drain', more)
            return
          }
        }
        stream.end()
      }
      more()
    })
    expect(size).toBe(String(2000 * 1500))
  })

  test.each(['', 'begin'])('a deadline ends the call on both sides: %j', async request => {
    /** What has come until the time of the call was over. */
    const callFor = async (ms: number) => {
      const stream = client.makeServerStreamRequest(
        '/test.Echo/Never',
        bytes.serialize,
        bytes.deserialize,
        Buffer.from(request),
        new Metadata(),
        { deadline: Date.now() + ms },
      )
      const messages: string[] = []
      stream.on('data', message => messages.push(String(message)))
      const error = await new Promise<ServiceError>(resolve => stream.on('error', err => resolve(err as ServiceError)))
      expect(error.code).toBe(status.DEADLINE_EXCEEDED)
      return messages
    }
    const before = { ...seen }
    const expected = request === 'begin' ? ['first'] : []
    // On a busy machine the time may be over before anything has come.
    let ms = 100
    while ((await callFor(ms)).length < expected.length || seen.begun === before.begun) ms *= 2
    await expect.poll(() => seen.cancelled - before.cancelled).toBe(seen.begun - before.begun)
  })

  test('cancelling a call ends it at the backend, and the next call succeeds', async () => {
    const stream = client.makeBidiStreamRequest('/test.Echo/Chat', bytes.serialize, bytes.deserialize)
    stream.write(Buffer.from('0'))
    await new Promise(resolve => stream.once('data', resolve))
    const ended = new Promise<number>(resolve => stream.on('error', error => resolve((error as ServiceError).code)))
    stream.cancel()
    expect(await ended).toBe(status.CANCELLED)
    expect((await call('/test.Echo/Unary', 'again')).reply).toBe('again:yes')
  })
})

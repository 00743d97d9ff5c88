import { createServer } from 'node:http'
import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { HttpTarget } from '../../src/backends/http-target.ts'
import { ownExchange } from '../../src/calls/derived-exchange.ts'
import { type GrpcCall, GrpcFailure, type GrpcStream, grpcStream, grpcUnary } from '../../src/calls/grpc.ts'
import { FrameReader, frame } from '../../src/calls/grpc-frames.ts'
import type { Callee } from '../../src/calls/outcall.ts'
import { NO_STEPS } from '../../src/calls/step.ts'
import { createTransport } from '../../src/engine/upstream/transport.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { ManualClock } from '../engine/manual-clock.ts'
import { portOf } from '../helpers/upstream.ts'

const bytes = (value: Buffer) => value
const method = (path: string, streams: boolean) => ({
  path,
  requestStream: streams,
  responseStream: streams,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
})
const SERVICE: ServiceDefinition = {
  unary: method('/test.Echo/Unary', false),
  stream: method('/test.Echo/Stream', true),
}

async function serve(implementation: object): Promise<Callee> {
  const server = new Server()
  server.addService(SERVICE, { unary: () => {}, stream: () => {}, ...implementation } as UntypedServiceImplementation)
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    ),
  )
  onTestFinished(() => server.forceShutdown())
  return calleeAt(port)
}

const clock = new ManualClock()
const runtime = { clock }

function calleeAt(port: number): Callee {
  const transport = createTransport({ clock })
  onTestFinished(() => transport.close())
  const at = new HttpTarget({ host: '127.0.0.1', port }, {})
  const send: Callee['send'] = (x, attempt, on) =>
    at.send({ ...runtime, transport } as unknown as Runtime, x, attempt, on)
  return { name: 'echo', key: 'echo', steps: NO_STEPS, target: () => at.target, send }
}

const UNARY: GrpcCall = { path: '/test.Echo/Unary', scope: 'test', timeout: 0 }
const STREAM: GrpcCall = { path: '/test.Echo/Stream', scope: 'test', timeout: 0 }

test('a unary call carries one message each way, with metadata', async () => {
  let seen: Metadata | undefined
  const echo = await serve({
    unary(call: { request: Buffer; metadata: Metadata }, done: (...reply: unknown[]) => void) {
      seen = call.metadata
      done(null, Buffer.concat([call.request, Buffer.from('!')]))
    },
  })
  const reply = await grpcUnary(echo, { ...UNARY, fields: ['x-for', 'me'] }, Buffer.from('hello'), runtime)
  expect(reply.message.toString()).toBe('hello!')
  expect(reply.trailers.get('grpc-status')).toBe('0')
  expect(seen?.get('x-for')).toEqual(['me'])
})

test('a status other than OK fails with its message', async () => {
  const echo = await serve({
    unary: (_call: unknown, done: (error: object) => void) => done({ code: 7, details: 'für dich nicht' }),
  })
  await expect(grpcUnary(echo, UNARY, Buffer.alloc(0), runtime)).rejects.toMatchObject({
    status: 7,
    message: 'gRPC status 7 für dich nicht',
  })
})

test('a message over the limit fails without being read', async () => {
  const echo = await serve({
    unary: (_call: unknown, done: (...reply: unknown[]) => void) => done(null, Buffer.alloc(100_000)),
  })
  const failure = grpcUnary(echo, { ...UNARY, limit: 99_999 }, Buffer.alloc(0), runtime)
  await expect(failure).rejects.toMatchObject({ status: 8, message: 'the service sent a message of 100000 bytes' })
})

test('the deadline covers the whole call, and the service is notified', async () => {
  const asked = Promise.withResolvers<number>()
  const gone = Promise.withResolvers<void>()
  const echo = await serve({
    unary(call: { getDeadline(): number | Date; on(event: string, then: () => void): void }) {
      call.on('cancelled', gone.resolve)
      asked.resolve(Number(call.getDeadline()) - Date.now())
    },
  })
  const reply = grpcUnary(echo, { ...UNARY, timeout: 60_000 }, Buffer.alloc(0), runtime)
  const failed = expect(reply).rejects.toMatchObject({ code: 'upstreamTimeout' })
  expect(await asked.promise).toBeGreaterThan(0)
  clock.advance(60_000)
  await failed
  await gone.promise
})

test('a call made for a request ends with the request', async () => {
  const gone = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  const echo = await serve({
    stream(call: { on(event: string, then: () => void): void }) {
      call.on('cancelled', gone.resolve)
      asked.resolve()
    },
  })
  const client = ownExchange()
  const call = { ...STREAM, purpose: { kind: 'Policy', subtype: 'ExtProc' } } as const
  grpcStream(echo, call, { message: () => true, end() {}, fail() {} }, runtime, client).write(Buffer.from('a'))
  await asked.promise
  client.abort()
  await gone.promise
})

test('a server that does not speak gRPC fails the call', async () => {
  const server = createServer()
  server.on('connection', socket => socket.destroy())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  await expect(grpcUnary(calleeAt(portOf(server)), UNARY, Buffer.alloc(0), runtime)).rejects.toMatchObject({
    code: 'upstreamFailed',
  })
})

interface Heard {
  readonly messages: string[]
  readonly ended: Promise<void>
  readonly stream: GrpcStream
}

function listen(echo: Callee, take: (heard: string[]) => boolean): Heard {
  const messages: string[] = []
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  const stream = grpcStream(
    echo,
    STREAM,
    {
      message(message) {
        messages.push(message.toString())
        return take(messages)
      },
      end: () => resolve(),
      fail: reject,
    },
    runtime,
  )
  return { messages, ended, stream }
}

interface Duplex {
  on(event: string, then: (message: Buffer) => void): void
  write(message: Buffer): void
  end(): void
}
const ECHO = {
  stream(call: Duplex) {
    call.on('data', message => call.write(message))
    call.on('end', () => call.end())
  },
}

test('messages pass both ways in order, and either side may end', async () => {
  const { messages, ended, stream } = listen(await serve(ECHO), () => true)
  for (const text of ['a', 'b', 'c']) stream.write(Buffer.from(text))
  await expect.poll(() => messages).toEqual(['a', 'b', 'c'])
  stream.write(Buffer.alloc(0))
  stream.end()
  await ended
  expect(messages).toEqual(['a', 'b', 'c', ''])
})

test('a paused reader gets nothing until it resumes, and loses nothing', async () => {
  const { messages, ended, stream } = listen(await serve(ECHO), heard => heard.length % 2 === 0)
  for (let i = 0; i < 9; i++) stream.write(Buffer.from(String(i)))
  stream.end()
  for (let read = 1; read <= 9; read += 2) {
    await expect.poll(() => messages.length).toBe(read)
    await new Promise(setImmediate)
    expect(messages.length).toBe(read)
    stream.resume()
  }
  await ended
  expect(messages.join('')).toBe('012345678')
})

test('a writer is notified when its data has drained', async () => {
  const { stream } = listen(await serve(ECHO), () => true)
  const drained = Promise.withResolvers<void>()
  stream.onDrain(drained.resolve)
  while (stream.write(Buffer.alloc(32 * 1024)));
  await drained.promise
  stream.cancel()
})

test('frames are reassembled for any chunk boundaries', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 40 })),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
      (messages, sizes) => {
        const all = Buffer.concat(messages.map(frame))
        const reader = new FrameReader(100)
        const read: string[] = []
        for (let at = 0, i = 0; at < all.length; i++) {
          const size = sizes[i % sizes.length] as number
          reader.push(all.subarray(at, at + size))
          at += size
          for (let next = reader.next(); Buffer.isBuffer(next); next = reader.next()) read.push(next.toString('hex'))
        }
        expect(read).toEqual(messages.map(message => Buffer.from(message).toString('hex')))
        expect(reader.partial).toBe(false)
      },
    ),
  )
  const compressed = new FrameReader(100)
  compressed.push(Buffer.from([1, 0, 0, 0, 0]))
  expect(compressed.next()).toMatchObject({ status: 13 })
  expect(new GrpcFailure(13, 'x').status).toBe(13)
})

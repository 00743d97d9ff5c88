import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Backend, BackendContext } from '../../../src/backends/backend.ts'
import { createCelCompiler } from '../../../src/cel/compiler.ts'
import { createPatternCompiler } from '../../../src/cel/pattern.ts'
import type { Finding } from '../../../src/diagnostics/diagnostic.ts'
import { createTransport } from '../../../src/engine/upstream/transport.ts'
import { BodyMemory } from '../../../src/http/body-memory.ts'
import { ERRORS, GatewayError } from '../../../src/http/errors.ts'
import { type Attempt, type BodySource, Exchange } from '../../../src/http/exchange.ts'
import { HeaderList } from '../../../src/http/headers.ts'
import { pathNormalizer, SAFE_PATHS } from '../../../src/http/path-normalization.ts'
import type { ChunkSink } from '../../../src/http/transport.ts'
import type { Runtime } from '../../../src/runtime/runtime.ts'
import type { Schema } from '../../../src/schema/builder.ts'
import { decode, INVALID } from '../../../src/schema/decode.ts'
import { loaded, serving } from '../../helpers/serving.ts'

export interface Gateway extends AsyncDisposable {
  readonly url: string
  /** The exchanges so far, each once its reply is over. */
  readonly done: Exchange[]
  /** The next exchange to be over. */
  next(): Promise<Exchange>
}

/** Decodes as the configuration loader does; a finding fails the test. */
export function decoded<T>(schema: Schema<T>, value: unknown): T {
  const findings: Finding[] = []
  const result = tryDecode(schema, value, findings)
  if (result === INVALID || findings.length > 0) throw new Error(JSON.stringify(findings, undefined, 1))
  return result as T
}

export function tryDecode<T>(schema: Schema<T>, value: unknown, findings: Finding[]) {
  return decode(schema, value, [], {
    report: finding => findings.push(finding),
    paths: new WeakMap(),
    cel: createCelCompiler(),
    patterns: createPatternCompiler(),
    missing: new Set(),
  })
}

export function testRuntime(): Runtime {
  const clock: Runtime['clock'] = {
    now: () => Date.now(),
    mono: () => performance.now(),
    after(ms, then) {
      const timer = setTimeout(then, ms)
      return { cancel: () => clearTimeout(timer) }
    },
  }
  const transport = createTransport({ clock })
  const log = { log() {}, child: () => log }
  const states = new Map<string, object>()
  return {
    clock,
    random: () => 0.5,
    uuid: randomUUID,
    transport,
    log,
    state: {
      get<T extends object>(key: string, make: () => T): T {
        const held = (states.get(key) as T | undefined) ?? make()
        states.set(key, held)
        return held
      },
      memory: (_key, bytes) => new ArrayBuffer(bytes),
    },
    bodies: new BodyMemory(),
    worker: { index: 0, count: 1 },
  }
}

export function testContext(runtime: Runtime, findings: Finding[] = []): BackendContext {
  const origin = { file: 'gateway.yaml', line: 1, col: 1 }
  return {
    identity: 'test',
    key: 'test',
    name: 'test',
    origin,
    runtime,
    limits: { maxBuffer: 2_097_152, paths: pathNormalizer(SAFE_PATHS) },
    hides: () => {},
    env: {},
    settings: {},
    report: finding => findings.push(finding as Finding),
    originOf: () => origin,
    readFile: () => undefined,
    state: (name, make) => runtime.state.get(name, make),
    movingState: (name, make) => runtime.state.get(name, make),
    serving,
    memory: (name, bytes) => runtime.state.memory(name, bytes),
    policiesAt: () => undefined,
  }
}

/** One backend behind Node's HTTP server, with the real way out: what the engine does around it, in small. */
export async function serve(backend: Backend, runtime: Runtime, prepare?: (x: Exchange) => void): Promise<Gateway> {
  await loaded()
  const done: Exchange[] = []
  const waiting: ((x: Exchange) => void)[] = []
  const server = createServer((req, res) => {
    const x = exchangeOf(req, runtime)
    prepare?.(x)
    res.on('close', () => {
      if (!res.writableFinished) x.abort()
      done.push(x)
      waiting.shift()?.(x)
    })
    const attempt: Attempt = { index: 0, target: backend.name, startedAt: 0, timeout: 0 }
    backend.send(x, attempt, {
      head(status, headers) {
        const raw = headers.raw.filter(
          (_, i, all) => !/^(connection|transfer-encoding|keep-alive)$/i.test(all[i - (i % 2)] as string),
        )
        res.writeHead(status, raw)
        return sinkOf(res)
      },
      fail: error => fail(res, error),
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    done,
    next: () => new Promise(resolve => waiting.push(resolve)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
      await runtime.transport.close()
    },
  }
}

function sinkOf(res: ServerResponse): ChunkSink {
  let drained: () => void = () => {}
  res.on('drain', () => drained())
  return {
    write: chunk => res.write(chunk),
    end: () => {
      res.end()
    },
    fail: () => {
      res.destroy()
    },
    onDrain: then => {
      drained = then
    },
  }
}

function fail(res: ServerResponse, error: Error): void {
  const known = error instanceof GatewayError ? error : new GatewayError('internal', { cause: error })
  const { body, headers = [] } = known.details
  res.writeHead(known.status, ['content-type', body?.type ?? 'text/plain', ...headers])
  res.end(body?.text ?? `${ERRORS[known.code].message}`)
}

function exchangeOf(req: IncomingMessage, runtime: Runtime): Exchange {
  return new Exchange({
    id: 'test',
    connection: { id: 1, address: '127.0.0.1', port: 1, localPort: 1 },
    startedAt: runtime.clock.now(),
    startedMono: runtime.clock.mono(),
    httpVersion: '1.1',
    request: {
      method: req.method ?? 'GET',
      scheme: 'http',
      authority: req.headers.host ?? '',
      path: req.url ?? '/',
      headers: new HeaderList(req.rawHeaders),
    },
    body: bodyOf(req),
  })
}

function bodyOf(req: IncomingMessage): BodySource {
  let bytes: Buffer | undefined
  const length = req.headers['content-length']
  return {
    length: length === undefined ? undefined : Number(length),
    get bytes() {
      return bytes
    },
    async buffer(limit) {
      const chunks: Buffer[] = []
      let size = 0
      for await (const chunk of req as AsyncIterable<Buffer>) {
        size += chunk.length
        if (size > limit) throw new GatewayError('bodyTooLarge')
        chunks.push(chunk)
      }
      bytes = Buffer.concat(chunks)
      return bytes
    },
    prefix: () => Promise.reject(new Error('nobody asks')),
    replace: next => {
      bytes = next
    },
    take: () => bytes ?? (length === undefined && req.headers['transfer-encoding'] === undefined ? undefined : req),
  }
}

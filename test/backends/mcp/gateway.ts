import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BackendContext, SessionSettings } from '../../../src/backends/backend.ts'
import { mcpBackend } from '../../../src/backends/mcp/index.ts'
import { createTransport } from '../../../src/engine/upstream/transport.ts'
import { BodyMemory } from '../../../src/http/body-memory.ts'
import { GatewayError } from '../../../src/http/errors.ts'
import { type AuthFacts, type BodySource, Exchange, type McpGuard, type McpRules } from '../../../src/http/exchange.ts'
import { HeaderList } from '../../../src/http/headers.ts'
import { pathNormalizer, SAFE_PATHS } from '../../../src/http/path-normalization.ts'
import type { ResponseHandler } from '../../../src/http/transport.ts'
import type { Clock, Runtime } from '../../../src/runtime/runtime.ts'
import { type DecodeContext, decode, INVALID } from '../../../src/schema/decode.ts'
import type { TraceScope } from '../../../src/trace/trace-event.ts'
import { loaded, serving } from '../../helpers/serving.ts'

export interface Gateway {
  readonly url: URL
  readonly logs: string[]
  /** What the gateway knows after each request, in order. */
  readonly exchanges: Exchange[]
  readonly clock: TestClock
  /** As a reload without the backend does. */
  dropState(): void
  close(): Promise<void>
}

export interface GatewayOptions {
  readonly rules?: readonly McpRules[]
  readonly guards?: readonly McpGuard[]
  readonly sessions?: SessionSettings
  /** The backend's key. */
  readonly key?: string
  /** Receives `scope type target` of each event. */
  readonly traced?: string[]
  readonly auth?: (x: Exchange) => Partial<AuthFacts>
  /** Files that the configuration names. */
  readonly files?: Readonly<Record<string, string>>
  /** ms that the route gives each attempt. */
  readonly timeout?: number
}

/** The compiled backend behind a real HTTP server. */
export async function startGateway(spec: unknown, options: GatewayOptions = {}): Promise<Gateway> {
  const clock = new TestClock()
  const state = new Map<string, object>()
  const logs: string[] = []
  const exchanges: Exchange[] = []
  const runtime = testRuntime(clock, state, logs)
  const decoded = decode(mcpBackend.schema, spec, [], decoding())
  if (decoded === INVALID) throw new TypeError('the spec is invalid')
  const ctx: BackendContext = {
    identity: 'test',
    key: options.key ?? 'test/mcp',
    name: 'mcp',
    origin: { file: 'test.yaml', line: 1, col: 1 },
    runtime,
    settings: {},
    limits: { maxBuffer: 2 * 1024 * 1024, paths: pathNormalizer(SAFE_PATHS) },
    hides: () => {},
    env: {},
    ...(options.sessions === undefined ? {} : { sessions: options.sessions }),
    report(finding) {
      throw new Error(finding.message)
    },
    originOf: () => ({ file: 'test.yaml', line: 1, col: 1 }),
    readFile: file => (options.files?.[file] === undefined ? undefined : Buffer.from(options.files[file])),
    state: (name, make) => runtime.state.get(name, make),
    movingState: (name, make) => runtime.state.get(name, make),
    serving,
    memory: (name, bytes) => runtime.state.memory(name, bytes),
    policiesAt: () => undefined,
  }
  const backend = mcpBackend.compile(decoded, ctx)
  await loaded()
  const server = createServer((req, res) => {
    const x = exchangeOf(req, clock)
    if (options.rules) x.mcpRules = options.rules
    if (options.guards) x.mcpGuards = options.guards
    Object.assign(x.auth, options.auth?.(x))
    if (options.traced) x.trace = traceInto(options.traced, [])
    exchanges.push(x)
    res.on('close', () => {
      if (!res.writableFinished) x.abort()
    })
    const attempt = { index: 0, target: 'mcp', startedAt: 0, timeout: options.timeout ?? 0, backoff: 0 }
    x.attempts.push(attempt)
    backend.send(x, attempt, responder(res))
  })
  await listening(server)
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`),
    logs,
    exchanges,
    clock,
    dropState: () => closeAll(state),
    async close() {
      closeAll(state)
      server.closeAllConnections()
      await new Promise(done => server.close(done))
      await runtime.transport.close()
    },
  }
}

/** Real time, plus what a test adds to it. */
export class TestClock implements Clock {
  #added = 0
  #waiting: { at: number; run: () => void }[] = []

  now(): number {
    return Date.now() + this.#added
  }

  mono(): number {
    return performance.now() + this.#added
  }

  after(ms: number, then: () => void): { cancel(): void } {
    const entry = {
      at: this.mono() + ms,
      run: () => {
        clearTimeout(timer)
        this.#waiting = this.#waiting.filter(each => each !== entry)
        then()
      },
    }
    const timer = setTimeout(() => entry.run(), ms)
    timer.unref()
    this.#waiting.push(entry)
    return {
      cancel: () => {
        clearTimeout(timer)
        this.#waiting = this.#waiting.filter(each => each !== entry)
      },
    }
  }

  /** Timers that have not fired. */
  get waiting(): number {
    return this.#waiting.length
  }

  advance(ms: number): void {
    const until = this.mono() + ms
    for (;;) {
      const next = this.#waiting.filter(each => each.at <= until).sort((a, b) => a.at - b.at)[0]
      if (!next) break
      this.#added += Math.max(0, next.at - this.mono())
      next.run()
    }
    this.#added += Math.max(0, until - this.mono())
  }
}

function testRuntime(clock: Clock, state: Map<string, object>, logs: string[]): Runtime {
  const log: Runtime['log'] = {
    log: (level, message, fields) => logs.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    child: () => log,
  }
  return {
    clock,
    random: Math.random,
    uuid: randomUUID,
    transport: createTransport({ clock }),
    state: {
      get<T extends object>(key: string, make: () => T): T {
        if (!state.has(key)) state.set(key, make())
        return state.get(key) as T
      },
      memory: (_key, bytes) => new ArrayBuffer(bytes),
    },
    bodies: new BodyMemory(),
    worker: { index: 0, count: 1 },
    log,
  }
}

function traceInto(lines: string[], scope: readonly string[]): TraceScope {
  return {
    mostRoutes: 100,
    emit: message => lines.push([...scope, message.type, 'target' in message ? message.target : ''].join(' ').trim()),
    snapshot: () => {},
    body: () => {},
    enter: () => 0,
    leave: () => {},
    now: () => 0,
    child: name => traceInto(lines, [...scope, name]),
    call({ target }) {
      lines.push([...scope, 'callStart', target].join(' '))
      return { end: () => lines.push([...scope, 'callEnd', target].join(' ')) }
    },
  }
}

function closeAll(state: Map<string, object>): void {
  for (const value of state.values()) if ('close' in value) (value.close as () => void)()
  state.clear()
}

function exchangeOf(req: IncomingMessage, clock: Clock): Exchange {
  return new Exchange({
    id: 'test',
    connection: { id: 1, address: '127.0.0.1', port: 1, localPort: 1 },
    startedAt: clock.now(),
    startedMono: clock.mono(),
    httpVersion: req.httpVersion,
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
  let held: Buffer | undefined
  return {
    length: undefined,
    get bytes() {
      return held
    },
    async buffer(limit) {
      const chunks: Buffer[] = []
      let size = 0
      for await (const chunk of req as AsyncIterable<Buffer>) {
        size += chunk.length
        if (size <= limit) chunks.push(chunk)
      }
      if (size > limit) throw new GatewayError('bodyTooLarge')
      held = Buffer.concat(chunks)
      return held
    },
    prefix: () => Promise.reject(new Error('nobody asks')),
    replace(bytes) {
      held = bytes
    },
    take: () => req,
  }
}

function responder(res: ServerResponse): ResponseHandler {
  return {
    head(status, headers) {
      res.writeHead(status, [...headers.raw])
      res.flushHeaders()
      return {
        write: chunk => res.write(chunk),
        end: () => res.end(),
        fail: () => res.destroy(),
        onDrain: then => {
          res.removeAllListeners('drain')
          res.on('drain', then)
        },
      }
    },
    fail(error) {
      if (!(error instanceof GatewayError)) throw error
      const { body, headers = [] } = error.details
      const text = body?.text ?? error.message
      res.writeHead(error.status, ['content-type', body?.type ?? 'text/plain', ...headers]).end(text)
    },
  }
}

function decoding(): DecodeContext {
  return {
    report(finding) {
      throw new Error(finding.message)
    },
    paths: new WeakMap(),
    cel: undefined,
    patterns: undefined,
    missing: new Set(),
  }
}

function listening(server: Server): Promise<void> {
  return new Promise(done => server.listen(0, '127.0.0.1', done))
}

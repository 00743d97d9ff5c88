import { type IncomingHttpHeaders, request } from 'node:http'
import { createCelCompiler } from '../../../src/cel/compiler.ts'
import type { AdminSource } from '../../../src/engine/admin/source.ts'
import { thisThread } from '../../../src/engine/admin/threads.ts'
import { HeadSnapshots } from '../../../src/engine/head-snapshot.ts'
import { ProcessLog } from '../../../src/engine/logging.ts'
import { MetricsRegistry } from '../../../src/engine/metrics/registry.ts'
import { TraceHub } from '../../../src/engine/trace-hub.ts'
import { bodyOf, Exchange } from '../../../src/http/exchange.ts'
import { HeaderList } from '../../../src/http/headers.ts'
import { ManualClock } from '../manual-clock.ts'

/** What the servers show, with everything real but the gateway itself. */
export class FakeGateway implements AdminSource {
  readonly clock = new ManualClock()
  readonly threads = thisThread('main', this.clock)
  readonly trace = new TraceHub({ clock: this.clock, cel: createCelCompiler(), worker: 0 })
  readonly logged: string[] = []
  readonly log = new ProcessLog({
    clock: this.clock,
    format: 'text',
    sink: { write: (line: string) => this.logged.push(line) },
  })
  readonly counted = new MetricsRegistry()
  quits = 0
  pending: string[] = []
  dumped: object = { binds: [] }
  #requests = 0

  dump(): object {
    if (this.dumped instanceof Error) throw this.dumped
    return this.dumped
  }

  quit(): void {
    this.quits++
  }

  ready() {
    return { ok: this.pending.length === 0, pending: this.pending }
  }

  metrics() {
    return this.counted.families()
  }

  /** A request whose head has just been read. */
  arrive(path = '/v1/chat', method = 'POST'): Exchange {
    this.#requests++
    const x = new Exchange({
      id: `r${this.#requests}`,
      connection: { id: 1, address: '10.1.2.3', port: 51000, localPort: 3000 },
      startedAt: this.clock.now(),
      startedMono: this.clock.mono(),
      httpVersion: '1.1',
      request: { method, scheme: 'http', authority: 'api.example.com', path, headers: new HeaderList() },
      body: bodyOf(undefined),
    })
    x.trace = this.trace.start(x, new HeadSnapshots())
    return x
  }

  finish(x: Exchange, status = 200): void {
    x.trace?.emit({ type: 'requestFinished', status, bytes: 0 })
  }
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface Call {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly socketPath?: string
}

/** `address` as the server reported it. */
export function call(address: string, path: string, options: Call = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const target = address.startsWith('unix:')
      ? { socketPath: address.slice('unix:'.length), path }
      : { ...place(address), path }
    const sent = request({ ...target, method: options.method ?? 'GET', headers: options.headers ?? {} }, reply => {
      let text = ''
      reply.setEncoding('utf8')
      reply.on('data', (chunk: string) => {
        text += chunk
      })
      reply.on('end', () => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text }))
      reply.on('error', reject)
    })
    sent.on('error', reject)
    sent.end()
  })
}

/** A trace stream as a client sees it. */
export class TraceClient {
  text = ''
  status = 0
  readonly ended: Promise<void>
  #waiting: { readonly until: (text: string) => boolean; readonly done: () => void }[] = []
  readonly #sent: ReturnType<typeof request>

  private constructor(address: string, query: string, opened: () => void) {
    this.#sent = request({ ...place(address), method: 'POST', path: `/debug/trace${query}` })
    this.ended = new Promise((resolve, reject) => {
      this.#sent.on('error', error => (this.#sent.destroyed ? resolve() : reject(error)))
      this.#sent.on('response', reply => {
        this.status = reply.statusCode ?? 0
        reply.setEncoding('utf8')
        reply.on('data', (chunk: string) => {
          this.text += chunk
          this.#waiting = this.#waiting.filter(({ until, done }) => {
            if (until(this.text)) done()
            return !until(this.text)
          })
        })
        reply.on('close', resolve)
        opened()
      })
    })
    this.#sent.end()
  }

  /** Resolves when the server has answered with `: ready`. */
  static async open(address: string, query = ''): Promise<TraceClient> {
    const opened = Promise.withResolvers<void>()
    const client = new TraceClient(address, query, opened.resolve)
    await opened.promise
    await client.until(text => text.startsWith(': ready\n\n') || client.status !== 200)
    return client
  }

  until(condition: (text: string) => boolean): Promise<void> {
    if (condition(this.text)) return Promise.resolve()
    return new Promise(done => this.#waiting.push({ until: condition, done }))
  }

  get events(): Record<string, unknown>[] {
    return this.text
      .split('\n')
      .filter(line => line.startsWith('data: {"seq"'))
      .map(line => JSON.parse(line.slice('data: '.length)))
  }

  /** Until then, the client does not read. */
  leave(): void {
    this.#sent.destroy()
  }
}

function place(address: string): { host: string; port: number } {
  const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? []
  return { host, port: Number(port) }
}

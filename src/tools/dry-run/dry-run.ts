import { createCelCompiler } from '../../cel/compiler.ts'
import { offlineRuntime } from '../../config/offline-runtime.ts'
import type { Bind, Snapshot } from '../../config/snapshot.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { systemClock } from '../../engine/clock.ts'
import { handle } from '../../engine/handle.ts'
import { HeadSnapshots } from '../../engine/head-snapshot.ts'
import { newPassage } from '../../engine/passage.ts'
import { runDone } from '../../engine/pipeline.ts'
import { routeTables } from '../../engine/route-table.ts'
import { TraceHub } from '../../engine/trace-hub.ts'
import { callWhole } from '../../engine/upstream/call.ts'
import { bodyOf, Exchange } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import type { Runtime } from '../../http/runtime.ts'
import type { TraceEvent } from '../../http/trace-event.ts'
import { loadInput } from '../check.ts'
import { type InputPlace, readInput } from '../input-files.ts'
import { memoryDownstream } from './memory-downstream.ts'
import { type StubReply, stubTransport } from './stub-transport.ts'

/** A request as plain data. */
export interface DryRequest {
  readonly method: string
  /** Absolute. */
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body?: Buffer | undefined
  /** The configured port that it comes in at; unset: that of the URL, else the first one. */
  readonly port?: number | undefined
}

export interface DryOptions extends InputPlace {
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A configuration through which requests are run without a socket. */
export interface DryGateway {
  /** What happened to it, from `requestStarted` to `requestFinished`. */
  run(request: DryRequest, upstream: StubReply): Promise<readonly TraceEvent[]>
}

/**
 * Compiles what `run -f FILE` would serve. Nothing is opened and nobody is called: each call to a backend or another
 * service gets the answer that stands in for it. Throws a Failure `input` when the file cannot be read or served.
 */
export async function openDryGateway(file: string, options: DryOptions): Promise<DryGateway> {
  const input = await readInput(file, options)
  let upstream: StubReply = { status: 200 }
  const runtime = dryRuntime(() => upstream)
  const loaded = await loadInput(input, { ...options, tier: 'env' }, runtime)
  const { snapshot } = loaded
  if (!loaded.runnable || !snapshot) {
    const first = loaded.diagnostics.find(({ severity }) => severity === 'error')
    throw new Failure('input', `${file} cannot be served: ${first?.message ?? 'it has findings'}.`, {
      help: `See gwctl validate ${file}`,
    })
  }
  const tables = routeTables(snapshot)
  let lastId = 0
  return {
    async run(request, reply) {
      upstream = reply
      const heads = new HeadSnapshots(snapshot.credentials, snapshot.settings.sensitiveHeaders)
      return runOnce(String(++lastId), request, { snapshot, tables, heads }, runtime)
    },
  }
}

function dryRuntime(reply: () => StubReply): Runtime {
  const transport = stubTransport(reply)
  return {
    ...offlineRuntime(),
    clock: systemClock,
    transport,
    call: (target, request, limit) => callWhole(transport, systemClock, target, request, limit),
  }
}

type Serving = Parameters<typeof handle>[2]

async function runOnce(id: string, request: DryRequest, serving: Serving, runtime: Runtime) {
  const url = new URL(request.url)
  const bind = bindFor(serving.snapshot, request.port, url)
  const x = exchangeOf(id, request, url, bind, runtime)
  const hub = new TraceHub({ clock: runtime.clock, cel: createCelCompiler(), worker: 0 })
  const watch = hub.watch({ requests: 1 })
  if (watch === undefined || 'problem' in watch) throw new Error('a hub of its own has room for one watcher')
  x.trace = hub.start(x, serving.heads)
  const passage = newPassage()
  const out = memoryDownstream()
  await handle(x, bind, serving, out, passage, runtime)
  await out.ended
  passage.deadline?.cancel()
  x.endedMono = runtime.clock.mono()
  for (const pipeline of [passage.backend?.pipeline, passage.route, passage.listener]) runDone(pipeline, x)
  const { error, reason } = x
  const status = x.response?.status ?? null
  x.trace?.emit({
    type: 'requestFinished',
    status,
    ...(error === undefined ? {} : { error }),
    reason,
    bytes: out.bytes,
  })
  const events: TraceEvent[] = []
  for (let event = watch.next(); event !== undefined; event = watch.next()) events.push(event)
  watch.close()
  return events
}

function bindFor({ binds }: Snapshot, port: number | undefined, url: URL): Bind {
  const wanted = port ?? (Number(url.port) || (url.protocol === 'https:' ? 443 : 80))
  const bind = binds.find(each => each.port === wanted) ?? binds.find(each => each.listeners.length > 0)
  if (bind === undefined) throw new Failure('input', 'the configuration opens no port, so no request can come in.')
  return bind
}

function exchangeOf(id: string, request: DryRequest, url: URL, bind: Bind, { clock }: Runtime): Exchange {
  const secure = url.protocol === 'https:'
  const headers = new HeaderList()
  for (const [name, value] of request.headers) headers.append(name, value)
  if (!headers.has('host')) headers.append('host', url.host)
  if (request.body && !headers.has('content-length')) headers.append('content-length', String(request.body.length))
  return new Exchange({
    id,
    connection: {
      id: 1,
      address: '127.0.0.1',
      port: 1,
      localPort: bind.port,
      ...(secure ? { tls: { sni: url.hostname, protocol: 'TLSv1.3' } } : {}),
    },
    startedAt: clock.now(),
    startedMono: clock.mono(),
    httpVersion: '1.1',
    request: {
      method: request.method,
      scheme: secure ? 'https' : 'http',
      authority: headers.get('host') ?? url.host,
      path: `${url.pathname}${url.search}`,
      headers,
    },
    body: bodyOf(request.body),
  })
}

import { createCelCompiler } from '../../src/cel/compiler.ts'
import { load } from '../../src/config/load.ts'
import { systemClock } from '../../src/engine/clock.ts'
import { Gateway } from '../../src/engine/gateway.ts'
import { ProcessLog } from '../../src/engine/logging.ts'
import { TraceHub } from '../../src/engine/trace-hub.ts'
import type { Clock } from '../../src/runtime/runtime.ts'

export interface TestGateway extends AsyncDisposable {
  readonly gateway: Gateway
  readonly trace: TraceHub
  /** `http://127.0.0.1:port` of a port that the file names. */
  url(configuredPort: number): string
  /** Swaps the configuration as a reload does; the findings when it is refused. */
  reload(text: string): Promise<readonly string[]>
  /** What the process has logged until now, also what it has not written yet. */
  readonly logged: readonly string[]
}

export interface TestGatewayOptions {
  readonly clock?: Clock
  readonly random?: () => number
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  /** Opens the ports that the file names; unset: each on a free one. */
  readonly portFor?: (port: number) => number
  readonly logFormat?: 'text' | 'json'
  /** RUST_LOG syntax. */
  readonly logFilter?: string
}

/** Starts the engine from configuration text, each configured port on a free one. Fails on any finding. */
export async function startGateway(text: string, options: TestGatewayOptions = {}): Promise<TestGateway> {
  const clock = options.clock ?? systemClock
  const logged: string[] = []
  const log = new ProcessLog({
    clock,
    format: options.logFormat ?? 'text',
    ...(options.logFilter === undefined ? {} : { filter: options.logFilter }),
    sink: { write: line => logged.push(String(line)) },
  })
  const trace = new TraceHub({ clock, cel: createCelCompiler(), worker: 0 })
  const gateway = new Gateway({
    clock,
    random: options.random ?? Math.random,
    log,
    trace,
    portFor: options.portFor ?? (() => 0),
    host: '127.0.0.1',
  })
  const apply = async (config: string): Promise<readonly string[]> => {
    gateway.state.begin()
    const loaded = await load('test.yaml', config, {
      env: options.env ?? {},
      tier: 'env',
      runtime: gateway.runtime,
      readReferenced: path => (options.files?.[path] === undefined ? undefined : Buffer.from(options.files[path])),
    })
    if (!loaded.runnable || !loaded.snapshot) {
      gateway.state.abandon()
      return loaded.diagnostics.map(d => `${d.range.start.line}:${d.range.start.col} ${d.code} ${d.message}`)
    }
    await gateway.apply(loaded.snapshot)
    return []
  }
  const findings = await apply(text)
  if (findings.length > 0) throw new Error(`the configuration has findings:\n${findings.join('\n')}`)
  return {
    gateway,
    trace,
    get logged() {
      log.flush()
      return logged
    },
    url: port => `http://127.0.0.1:${gateway.portOf(port)}`,
    reload: apply,
    [Symbol.asyncDispose]: () => gateway.stop({ min: 0, max: 0 }),
  }
}

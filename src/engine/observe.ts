import { ownExchange } from '../calls/derived-exchange.ts'
import type { RequestLog } from '../config/compile-request-log.ts'
import type { Telemetry } from '../config/compile-telemetry.ts'
import type { Snapshot } from '../config/snapshot.ts'
import type { BodyMemory } from '../http/body-memory.ts'
import type { Exchange, ExchangeObserver } from '../http/exchange.ts'
import type { ExportSource } from '../protobuf/otlp.ts'
import type { Clock, Logger } from '../runtime/runtime.ts'
import type { CallPurpose } from '../trace/span.ts'
import type { Downstream } from './downstream.ts'
import type { RecordLog } from './logging.ts'
import type { Counter, Family, MetricsRegistry } from './metrics/registry.ts'
import { AccessLog } from './observe/access-log.ts'
import { ConnectionMetrics } from './observe/connection-metrics.ts'
import { ExportedLog } from './observe/exported-log.ts'
import { Exporter } from './observe/exporter.ts'
import { RequestMetrics } from './observe/metrics.ts'
import type { Signal } from './observe/otlp-call.ts'
import { computedValues } from './observe/record-fields.ts'
import { RecordedBodies, type WantedBodies, wantedBodies } from './observe/recorded-bodies.ts'
import { RecordedRequests } from './observe/recorded-requests.ts'
import { Tracing } from './observe/spans.ts'

export interface ObserverInit {
  /** Where the access log goes. */
  readonly records: RecordLog
  readonly log: Logger
  readonly metrics: MetricsRegistry
  readonly clock: Clock
  /** Accounts for recorded bodies. */
  readonly bodies: BodyMemory
  readonly random: () => number
  readonly uuid: () => string
  readonly version: string
}

/** One configuration's view of its exchanges, kept until they end. */
class Observation implements ExchangeObserver {
  readonly accessLog: AccessLog
  readonly sentLog: ExportedLog | undefined
  readonly tracing: Tracing | undefined
  readonly requestLog: RequestLog | undefined
  readonly requests: RecordedRequests | undefined
  readonly bodies: (WantedBodies & { readonly limit: number }) | undefined

  constructor(snapshot: Snapshot, init: ObserverInit, exporters: Exporters, requests: RecordedRequests | undefined) {
    const { telemetry } = snapshot
    this.requestLog = telemetry.requestLog
    this.requests = requests
    const { log, sentLog, spans } = telemetry
    this.accessLog = new AccessLog(log, init.records)
    const logs = exporters.logs
    this.sentLog = sentLog && logs ? new ExportedLog(sentLog, logs) : undefined
    const sink = exporters.traces
    this.tracing = spans && sink ? new Tracing(spans, { clock: init.clock, random: init.random, sink }) : undefined
    const wanted = wantedBodies(expressionsOf(telemetry))
    const limit = snapshot.binds[0]?.frontend.maxBuffer ?? 0
    this.bodies = wanted.request || wanted.response ? { ...wanted, limit } : undefined
  }

  finished(x: Exchange, duration: number): void {
    this.accessLog.write(x, duration)
    this.sentLog?.write(x, duration)
    if (this.requests && this.requestLog) this.requests.write(x, duration, this.requestLog)
    this.tracing?.finished(x, duration)
  }
}

/** An exchange whose bodies are recorded. */
class RecordedObservation implements ExchangeObserver {
  readonly #observation: Observation
  readonly #bodies: RecordedBodies

  constructor(observation: Observation, bodies: RecordedBodies) {
    this.#observation = observation
    this.#bodies = bodies
  }

  reveal(): void {
    this.#bodies.reveal()
  }

  release(): void {
    this.#bodies.release()
  }

  finished(x: Exchange, duration: number): void {
    this.#observation.finished(x, duration)
  }
}

interface Exporters {
  traces: Exporter | undefined
  logs: Exporter | undefined
}

/**
 * Emits what each exchange leaves behind: metrics, a log record, spans. All of it runs after the last byte and without
 * blocking.
 */
export class Observer {
  readonly connections: ConnectionMetrics
  readonly #init: ObserverInit
  readonly #lost: Family<Counter>
  readonly #exporters: Exporters = { traces: undefined, logs: undefined }
  readonly #retired = new Set<Promise<void>>()
  #metrics: RequestMetrics | undefined
  #requests: RecordedRequests | undefined
  #current: Observation | undefined

  constructor(init: ObserverInit) {
    this.#init = init
    const { metrics } = init
    metrics.info('agentgateway_build_info', 'The running version.', { tag: init.version })
    this.connections = new ConnectionMetrics(metrics)
    this.#lost = metrics.counter('agentgateway_telemetry_lost_total', 'Telemetry records that were lost.', ['signal'])
  }

  /** Label names are those of the first configuration: `config` is read only at start. */
  apply(snapshot: Snapshot): void {
    const { telemetry } = snapshot
    if (this.#metrics === undefined) {
      this.#init.metrics.exclude(telemetry.withoutMetrics)
      this.#metrics = new RequestMetrics(this.#init.metrics, telemetry.labels)
    }
    this.#point('traces', telemetry.spans, telemetry)
    this.#point('logs', telemetry.sentLog, telemetry)
    this.#requests ??= this.#recordTo(telemetry.requestLog?.file)
    this.#current = new Observation(snapshot, this.#init, this.#exporters, this.#requests)
  }

  /** Called before anything else sees the exchange. `out`: the client side. */
  started(x: Exchange, out: Downstream): void {
    const observation = this.#current
    if (observation === undefined) return
    observation.tracing?.started(x)
    const wanted = observation.bodies
    x.observer =
      wanted === undefined
        ? observation
        : new RecordedObservation(observation, new RecordedBodies(x, out, wanted, wanted.limit, this.#init.bodies))
  }

  finished(x: Exchange): void {
    const duration = (x.endedMono ?? x.startedMono) - x.startedMono
    const { observer } = x
    observer?.reveal?.()
    this.#metrics?.finished(x, duration)
    observer?.finished(x, duration)
    observer?.release?.()
  }

  /** Nothing was served, so nothing was started either. */
  refused(x: Exchange): void {
    x.observer = this.#current
    this.finished(x)
  }

  /** A policy has called another service; `duration` in ms. */
  called(purpose: CallPurpose, duration: number): void {
    this.#metrics?.called(purpose, duration)
  }

  /** A connection without HTTP has ended. */
  tcpFinished(record: Readonly<Record<string, string | number>>): void {
    this.#current?.accessLog.writeFields(Object.entries(record))
  }

  /** Exports what is pending. */
  async close(): Promise<void> {
    const { traces, logs } = this.#exporters
    await Promise.all([traces?.close(), logs?.close(), this.#requests?.close(), ...this.#retired])
  }

  #recordTo(file: string | undefined): RecordedRequests | undefined {
    const { clock, uuid, log } = this.#init
    return file === undefined
      ? undefined
      : new RecordedRequests({ file, clock, uuid, log, lost: this.#lost.with('requests') })
  }

  #point(signal: Signal, collector: Telemetry['sentLog'] | Telemetry['spans'], telemetry: Telemetry): void {
    const known = this.#exporters[signal]
    if (collector === undefined) {
      this.#exporters[signal] = undefined
      if (known) this.#retire(known)
      return
    }
    const source = this.#sourceOf(signal, telemetry)
    if (known) known.retarget(collector, source)
    else {
      const { clock, random, log } = this.#init
      const lost = this.#lost.with(signal)
      this.#exporters[signal] = new Exporter({ signal, collector, source, clock, random, log, lost })
    }
  }

  #retire(exporter: Exporter): void {
    const closing = exporter.close().finally(() => this.#retired.delete(closing))
    this.#retired.add(closing)
  }

  /** Process attributes cannot depend on a request, so they are evaluated without one. */
  #sourceOf(signal: Signal, { spans, resource }: Telemetry): ExportSource {
    const { version, clock } = this.#init
    const nobody = ownExchange({ clock })
    const attributes = new Map<string, unknown>([
      ['service.name', 'agentgateway'],
      ['service.version', version],
      ...resource,
    ])
    for (const { name, value } of computedValues(spans?.resources ?? [], nobody)) attributes.set(name, value)
    return {
      resource: [...attributes],
      scope: { name: signal === 'logs' ? 'request' : 'agentgateway', version },
    }
  }
}

function expressionsOf({ log, sentLog, spans, labels, requestLog }: Telemetry) {
  const added = [log, sentLog, spans, requestLog].flatMap(rules => [
    rules?.filter,
    ...(rules?.add.map(field => field.value) ?? []),
  ])
  return [...added, requestLog?.user, requestLog?.group, spans?.spanName, ...labels.map(label => label.value)]
}

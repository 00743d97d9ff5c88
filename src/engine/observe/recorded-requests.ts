import type { RequestLog } from '../../config/compile-request-log.ts'
import { openRequestDatabase, type RequestDatabase, type RequestRow } from '../../files/request-database.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Clock, Logger, Timer } from '../../runtime/runtime.ts'
import type { Counter } from '../metrics/registry.ts'
import { passes, plain } from './access-log.ts'
import { computedValues, placeFields, requestFields } from './record-fields.ts'

/** ms that a row waits for a batch to fill, and until a failed write is retried. */
const GATHER = 1000
/** Queued rows; the oldest are dropped. */
const QUEUE = 10_000
/** Rows per transaction: about 20 ms on the serving thread. */
const BATCH = 500
/** ms between batches, in which requests are served. */
const BREATH = 10

export interface RecordedRequestsInit {
  readonly file: string
  readonly clock: Clock
  readonly uuid: () => string
  readonly log: Logger
  /** Rows that were never written. */
  readonly lost: Counter
}

/**
 * Writes requests to LLMs to a database in batches, off the request path: a locked or full database costs a bounded
 * amount of memory and its rows, which are counted as lost.
 */
export class RecordedRequests {
  readonly #init: RecordedRequestsInit
  readonly #opening: Promise<void>
  #database: RequestDatabase | undefined
  #rows: RequestRow[] = []
  #timer: Timer | undefined
  #failing = false

  constructor(init: RecordedRequestsInit) {
    this.#init = init
    this.#opening = this.#open()
  }

  /** `duration` in ms. */
  write(x: Exchange, duration: number, rules: RequestLog): void {
    if ((x.llm === undefined && x.backend?.protocol !== 'llm') || !passes(rules, x)) return
    this.#rows.push(rowOf(x, duration, rules, this.#init.uuid()))
    if (this.#rows.length > QUEUE) {
      this.#rows.shift()
      this.#init.lost.add(1)
    }
    this.#timer ??= this.#init.clock.after(GATHER, () => this.#flush())
  }

  /** Writes what is pending; what cannot be written is lost. */
  async close(): Promise<void> {
    await this.#opening
    while (this.#rows.length > 0 && this.#writeBatch());
    this.#init.lost.add(this.#rows.length)
    this.#rows = []
    this.#timer?.cancel()
    this.#database?.close()
    this.#database = undefined
  }

  async #open(): Promise<void> {
    try {
      this.#database = await openRequestDatabase(this.#init.file)
    } catch (error) {
      this.#tell('error', 'cannot be opened', error)
    }
  }

  #flush(): void {
    this.#timer = undefined
    if (this.#database === undefined) {
      void this.#reopen()
      return
    }
    const pause = this.#writeBatch() ? BREATH : GATHER
    if (this.#rows.length > 0) this.#timer = this.#init.clock.after(pause, () => this.#flush())
  }

  async #reopen(): Promise<void> {
    await this.#opening
    if (this.#database === undefined) await this.#open()
    if (this.#rows.length > 0) this.#timer ??= this.#init.clock.after(GATHER, () => this.#flush())
  }

  #writeBatch(): boolean {
    if (this.#database === undefined) return false
    const batch = this.#rows.slice(0, BATCH)
    try {
      this.#database.insert(batch)
      this.#rows.splice(0, batch.length)
      this.#failing = false
      return true
    } catch (error) {
      this.#tell('warn', 'cannot be written for now', error)
      return false
    }
  }

  /** Logs the first of several failures in a row. */
  #tell(level: 'error' | 'warn', what: string, error: unknown): void {
    const { log, file } = this.#init
    if (!this.#failing) log.log(level, `the request database \`${file}\` ${what}: ${(error as Error).message}`)
    this.#failing = true
  }
}

function rowOf(x: Exchange, duration: number, { user, group, add }: RequestLog, id: string): RequestRow {
  const attributes: Record<string, unknown> = {}
  const sink = {
    add(name: string, value: string | number) {
      attributes[name] = value
    },
  }
  placeFields(x, sink)
  requestFields(x, duration, sink)
  const userAgent = /^[^\s/;()]+/.exec(x.received.headers.get('user-agent') ?? '')?.[0] ?? null
  const who = {
    'agentgateway.user': user && textOf(user.evaluate(x)),
    'agentgateway.group': group && textOf(group.evaluate(x)),
    'user_agent.name': userAgent,
  }
  for (const [name, value] of Object.entries(who)) if (value !== undefined && value !== null) attributes[name] = value
  for (const { name, value } of computedValues(add, x)) attributes[name] = plain(value)
  const { llm } = x
  const cost = llm?.prices?.lookUp(llm).cost?.total
  return {
    id,
    started_at: new Date(x.startedAt).toISOString(),
    completed_at: new Date(x.startedAt + duration).toISOString(),
    duration_ms: Math.floor(duration),
    trace_id: x.span?.traceId ?? null,
    span_id: x.span?.spanId ?? null,
    http_status: x.response?.status ?? null,
    error: x.error ?? null,
    gen_ai_operation_name: llm ? (llm.operation ?? 'chat') : null,
    gen_ai_provider_name: llm?.provider ?? null,
    gen_ai_request_model: llm?.requestModel ?? null,
    gen_ai_response_model: llm?.responseModel ?? null,
    input_tokens: llm?.inputTokens ?? null,
    output_tokens: llm?.outputTokens ?? null,
    total_tokens: llm?.totalTokens ?? null,
    cost: cost === undefined ? null : Number(cost),
    agentgateway_user: who['agentgateway.user'] ?? null,
    agentgateway_group: who['agentgateway.group'] ?? null,
    user_agent_name: userAgent,
    has_payload: 0,
    attributes_json: JSON.stringify(attributes),
  }
}

function textOf(outcome: ReturnType<NonNullable<RequestLog['user']>['evaluate']>): string | undefined {
  if (!outcome.ok || outcome.value === null || outcome.value === undefined) return undefined
  return typeof outcome.value === 'string' ? outcome.value : JSON.stringify(plain(outcome.value))
}

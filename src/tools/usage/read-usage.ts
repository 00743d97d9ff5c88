import { Failure } from '../../diagnostics/failure.ts'
import { openRequestDatabase } from '../../files/request-database.ts'

/** Grouping keys: each is an expression over a row. */
const GROUPS = {
  model: 'gen_ai_request_model',
  provider: 'gen_ai_provider_name',
  user: 'agentgateway_user',
  group: 'agentgateway_group',
  client: 'user_agent_name',
  status: 'http_status',
  day: 'substr(completed_at, 1, 10)',
  hour: `substr(completed_at, 1, 13) || ':00'`,
} as const

export type GroupName = keyof typeof GROUPS
export const GROUP_NAMES = Object.keys(GROUPS) as GroupName[]

const SUMS = `count(*) AS requests,
  sum(http_status IS NULL OR http_status >= 400) AS errors,
  coalesce(sum(input_tokens), 0) AS inputTokens,
  coalesce(sum(output_tokens), 0) AS outputTokens,
  coalesce(sum(total_tokens), 0) AS totalTokens,
  round(sum(cost), 9) AS cost,
  sum(total_tokens > 0 AND cost IS NULL) AS unpriced,
  round(avg(duration_ms), 1) AS meanMs`

export interface Sums {
  readonly requests: number
  /** Responses with 400 or above, and requests without a response. */
  readonly errors: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly totalTokens: number
  /** US dollars; null without a known price. */
  readonly cost: number | null
  /** Requests with tokens but without a price. */
  readonly unpriced: number
  readonly meanMs: number | null
}

export interface Usage {
  readonly groups: readonly ({ readonly by: readonly (string | number | null)[] } & Sums)[]
  readonly total: Sums
}

export interface UsageQuery {
  readonly by: readonly GroupName[]
  /** ms since the epoch. */
  readonly since?: number | undefined
}

/** Aggregates the requests of a database, most expensive group first. Throws a Failure `input`. */
export async function readUsage(file: string, { by, since }: UsageQuery): Promise<Usage> {
  const database = await openRequestDatabase(file, true).catch((error: unknown) => {
    throw unreadable(file, error)
  })
  try {
    const from = since === undefined ? '' : new Date(since).toISOString().slice(0, 19)
    const columns = by.map((name, i) => `${GROUPS[name]} AS g${i}`)
    const keys = by.map((_, i) => `g${i}`)
    const inTime = by.length > 0 && by.every(name => name === 'day' || name === 'hour')
    const order = inTime ? keys.join() : 'cost DESC, totalTokens DESC, requests DESC'
    const rows = database.query(
      `SELECT ${[...columns, SUMS].join()} FROM request_logs WHERE completed_at >= ? GROUP BY ${keys.join()} ORDER BY ${order}`,
      from,
    )
    const [total] = database.query(`SELECT ${SUMS} FROM request_logs WHERE completed_at >= ?`, from)
    const groups = rows.map(row => ({ by: keys.map(key => row[key] as string | number | null), ...sumsOf(row) }))
    return { groups, total: sumsOf(total ?? {}) }
  } catch (error) {
    throw unreadable(file, error)
  } finally {
    database.close()
  }
}

function sumsOf(row: Readonly<Record<string, unknown>>): Sums {
  const { requests, inputTokens, outputTokens, totalTokens, cost, meanMs } = row as unknown as Sums
  const { errors, unpriced } = row as { readonly errors: number | null; readonly unpriced: number | null }
  return {
    requests,
    errors: errors ?? 0,
    inputTokens,
    outputTokens,
    totalTokens,
    cost,
    unpriced: unpriced ?? 0,
    meanMs,
  }
}

function unreadable(file: string, error: unknown): Failure {
  const { message } = error as Error
  return new Failure('input', `the request database ${file} cannot be read: ${message}.`, {
    cause: error,
    help: 'A gateway writes it with its first request to an LLM; is this the directory that it was started in?',
  })
}

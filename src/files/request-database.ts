import type { DatabaseSync } from 'node:sqlite'

/** A request to an LLM, by the columns of the public system's table: its tools read ours and the other way round. */
export interface RequestRow {
  readonly id: string
  /** ISO 8601, as is the next. */
  readonly started_at: string
  readonly completed_at: string
  readonly duration_ms: number
  readonly trace_id: string | null
  readonly span_id: string | null
  readonly http_status: number | null
  readonly error: string | null
  readonly gen_ai_operation_name: string | null
  readonly gen_ai_provider_name: string | null
  readonly gen_ai_request_model: string | null
  readonly gen_ai_response_model: string | null
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly total_tokens: number | null
  /** US dollars. */
  readonly cost: number | null
  readonly agentgateway_user: string | null
  readonly agentgateway_group: string | null
  readonly user_agent_name: string | null
  readonly has_payload: number
  /** The fields of the access log. */
  readonly attributes_json: string
}

const COLUMNS: Readonly<Record<keyof RequestRow, string>> = {
  id: 'TEXT PRIMARY KEY',
  started_at: 'TEXT NOT NULL',
  completed_at: 'TEXT NOT NULL',
  duration_ms: 'INTEGER NOT NULL',
  trace_id: 'TEXT',
  span_id: 'TEXT',
  http_status: 'INTEGER',
  error: 'TEXT',
  gen_ai_operation_name: 'TEXT',
  gen_ai_provider_name: 'TEXT',
  gen_ai_request_model: 'TEXT',
  gen_ai_response_model: 'TEXT',
  input_tokens: 'INTEGER',
  output_tokens: 'INTEGER',
  total_tokens: 'INTEGER',
  cost: 'REAL',
  agentgateway_user: 'TEXT',
  agentgateway_group: 'TEXT',
  user_agent_name: 'TEXT',
  has_payload: 'INTEGER NOT NULL',
  attributes_json: 'TEXT NOT NULL',
}
const NAMES = Object.keys(COLUMNS) as (keyof RequestRow)[]

const SCHEMA = `
CREATE TABLE IF NOT EXISTS request_logs (${NAMES.map(name => `${name} ${COLUMNS[name]}`).join(', ')});
CREATE TABLE IF NOT EXISTS request_log_payloads (
  log_id TEXT PRIMARY KEY REFERENCES request_logs(id) ON DELETE CASCADE,
  request_prompt_json TEXT,
  response_completion_json TEXT
);
CREATE INDEX IF NOT EXISTS idx_request_logs_completed_at ON request_logs(completed_at DESC, id DESC);
`

/** ms to wait for another process that writes: requests are served in the same thread. */
const BUSY_TIMEOUT = 20

export interface RequestDatabase {
  /** All rows or none; throws what SQLite says. */
  insert(rows: readonly RequestRow[]): void
  /** Rows of a query over `request_logs`. */
  query(sql: string, ...parameters: readonly (string | number)[]): readonly Readonly<Record<string, unknown>>[]
  close(): void
}

/** Opens a SQLite file, and makes it unless it is only read. Throws what SQLite says. */
export async function openRequestDatabase(file: string, readOnly = false): Promise<RequestDatabase> {
  const database = await connect(file, readOnly)
  const insert = readOnly
    ? undefined
    : database.prepare(`INSERT INTO request_logs (${NAMES.join()}) VALUES (${NAMES.map(() => '?').join()})`)
  return {
    insert(rows) {
      database.exec('BEGIN IMMEDIATE')
      try {
        for (const row of rows) insert?.run(...NAMES.map(name => row[name]))
        database.exec('COMMIT')
      } catch (error) {
        if (database.isTransaction) database.exec('ROLLBACK')
        throw error
      }
    },
    query: (sql, ...parameters) => database.prepare(sql).all(...parameters),
    close: () => database.close(),
  }
}

async function connect(file: string, readOnly: boolean): Promise<DatabaseSync> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(file, { readOnly, timeout: readOnly ? 2000 : BUSY_TIMEOUT })
  if (readOnly) return database
  try {
    // With a write-ahead log readers never wait, and what a crash of the machine can cost is the last moments.
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;')
    database.exec(SCHEMA)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

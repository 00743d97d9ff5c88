import type { Tone } from '../terminal/cells.ts'
import { bar, bytes, count, milliseconds, rate } from './figures.ts'
import {
  type A2aRate,
  type BudgetLeft,
  leftOf,
  type McpRate,
  type ModelRate,
  type Rates,
  type Traffic,
} from './rates.ts'

export type SectionId = 'routes' | 'models' | 'mcp' | 'backends' | 'budgets' | 'a2a'
export type SortKey = 'rate' | 'errors' | 'latency' | 'name'

export interface Column {
  readonly title: string
  readonly align: 'left' | 'right'
  /** Cells. Text columns take what they need up to this. */
  readonly width: number
  /** The column with the lowest rank is dropped first. */
  readonly rank: number
  /** If it is too long, the end is kept: for paths. */
  readonly keepsEnd: boolean
  /** The sort key of this column. */
  readonly sort: SortKey | undefined
}

/** A row for display, sorting and searching: `cells` has one entry per column. */
export interface ShownRow {
  /** Persists over samples. */
  readonly key: string
  readonly cells: readonly { readonly text: string; readonly tone: Tone }[]
  readonly order: Readonly<Partial<Record<SortKey, number | string>>>
  /** Lines below the columns when the row is shown by itself. */
  readonly details: readonly string[]
}

/** One of the lists of the view. */
export interface Section {
  readonly id: SectionId
  readonly title: string
  /** Shown if there are no rows. Empty: the list itself is hidden. */
  readonly empty: string
  /** The first one names the row and takes the remaining width. */
  readonly columns: readonly Column[]
  rows(rates: Rates): readonly ShownRow[]
}

interface ColumnOf<T> {
  readonly title: string
  readonly text: (row: T) => string
  /** For numbers; text is left-aligned. */
  readonly width?: number
  readonly maxText?: number
  readonly keepsEnd?: boolean
  readonly rank: number
  readonly sort?: readonly [key: SortKey, value: (row: T) => number | string]
  readonly tone?: (row: T) => Tone
}

interface SectionOf<T> {
  readonly id: SectionId
  readonly title: string
  readonly empty?: string
  readonly rows: (rates: Rates) => readonly T[]
  readonly key: (row: T) => string
  readonly columns: readonly ColumnOf<T>[]
  readonly details?: (row: T) => readonly string[]
}

function section<T>({ id, title, empty = '', rows, key, columns, details }: SectionOf<T>): Section {
  return {
    id,
    title,
    empty,
    columns: columns.map(({ title, width, maxText = 0, rank, keepsEnd = false, sort }) => ({
      title,
      keepsEnd,
      align: width === undefined ? 'left' : 'right',
      width: width ?? maxText,
      rank,
      sort: sort?.[0],
    })),
    rows: rates =>
      rows(rates).map(row => ({
        key: `${id} ${key(row)}`,
        cells: columns.map(({ text, tone }) => ({ text: text(row), tone: tone?.(row) ?? 'plain' })),
        order: Object.fromEntries(columns.flatMap(({ sort }) => (sort ? [[sort[0], sort[1](row)]] : []))),
        details: details?.(row) ?? [],
      })),
  }
}

const warnAbove = (value: number): Tone => (value > 0 ? 'warn' : 'plain')
const errorAbove = (value: number): Tone => (value > 0 ? 'error' : 'plain')
/** Rows without responses sort as the fastest. */
const latency = ({ p99 }: { readonly p99: number | undefined }) => p99 ?? -1

const ALWAYS = 100

function trafficSection(id: 'routes' | 'backends', title: string, name: string, empty: string): Section {
  return section<Traffic>({
    id,
    title,
    empty,
    rows: rates => rates[id],
    key: ({ name }) => name,
    columns: [
      { title: name, text: row => row.name, rank: ALWAYS, keepsEnd: true, sort: ['name', row => row.name] },
      { title: 'REQ/S', text: row => rate(row.requests), width: 6, rank: 90, sort: ['rate', row => row.requests] },
      { title: '4XX/S', text: row => rate(row.refused), width: 6, rank: 50, tone: row => warnAbove(row.refused) },
      { title: '429/S', text: row => rate(row.limited), width: 6, rank: 20, tone: row => warnAbove(row.limited) },
      {
        title: '5XX/S',
        text: row => rate(row.failed),
        width: 6,
        rank: 80,
        sort: ['errors', row => row.failed],
        tone: row => errorAbove(row.failed),
      },
      { title: 'P50', text: row => milliseconds(row.p50), width: 6, rank: 60 },
      { title: 'P90', text: row => milliseconds(row.p90), width: 6, rank: 40 },
      { title: 'P99', text: row => milliseconds(row.p99), width: 6, rank: 70, sort: ['latency', latency] },
      { title: 'RETRY/S', text: row => rate(row.retries), width: 7, rank: 10, tone: row => warnAbove(row.retries) },
      { title: 'BYTES/S', text: row => bytes(row.bytes), width: 7, rank: 30 },
    ],
    details: row => [
      'Answers per second:',
      ...row.outcomes.map(({ status, reason, requests }) =>
        // 0 stands for a client that left before the response.
        `${rate(requests).padStart(8)}  ${status === '0' ? 'no answer' : status} ${reason}`.trimEnd(),
      ),
    ],
  })
}

const models = section<ModelRate>({
  id: 'models',
  title: 'Models',
  empty: 'no LLM request has come yet',
  rows: rates => rates.models,
  key: ({ provider, name }) => `${provider}/${name}`,
  columns: [
    { title: 'MODEL', text: row => row.name, rank: ALWAYS, sort: ['name', row => row.name] },
    { title: 'PROVIDER', text: row => row.provider, maxText: 14, rank: 30 },
    { title: 'REQ/S', text: row => rate(row.requests), width: 6, rank: 90, sort: ['rate', row => row.requests] },
    {
      title: 'ERR/S',
      text: row => rate(row.failed),
      width: 6,
      rank: 80,
      sort: ['errors', row => row.failed],
      tone: row => errorAbove(row.failed),
    },
    { title: 'P50', text: row => milliseconds(row.p50), width: 6, rank: 40 },
    { title: 'P90', text: row => milliseconds(row.p90), width: 6, rank: 10 },
    { title: 'P99', text: row => milliseconds(row.p99), width: 6, rank: 55, sort: ['latency', latency] },
    { title: 'TTFT', text: row => milliseconds(row.firstToken), width: 6, rank: 50 },
    { title: 'TOK IN/S', text: row => rate(row.inputTokens), width: 8, rank: 60 },
    { title: 'TOK OUT/S', text: row => rate(row.outputTokens), width: 9, rank: 70 },
    { title: 'USD/H', text: row => row.usdPerHour?.toFixed(2) ?? '', width: 8, rank: 20 },
  ],
})

const mcp = section<McpRate>({
  id: 'mcp',
  title: 'MCP',
  empty: 'no MCP request has come yet',
  rows: rates => rates.mcp,
  key: ({ target, item, method }) => `${target} ${item} ${method}`,
  columns: [
    {
      title: 'MCP TARGET',
      text: row => row.target || '(all)',
      rank: ALWAYS,
      sort: ['name', row => `${row.target} ${row.item}`],
    },
    { title: 'ITEM', text: row => row.item || '-', maxText: 40, rank: 80 },
    { title: 'METHOD', text: row => row.method, maxText: 40, rank: 70 },
    { title: 'REQ/S', text: row => rate(row.requests), width: 6, rank: 90, sort: ['rate', row => row.requests] },
  ],
})

const a2a = section<A2aRate>({
  id: 'a2a',
  title: 'A2A',
  rows: rates => rates.a2a,
  key: ({ method, state }) => `${method} ${state}`,
  columns: [
    { title: 'A2A METHOD', text: row => row.method, rank: ALWAYS, sort: ['name', row => `${row.method} ${row.state}`] },
    {
      title: 'TASK STATE',
      text: row => row.state || '-',
      maxText: 30,
      rank: 80,
      tone: row => errorAbove(/failed$/i.test(row.state) ? 1 : 0),
    },
    { title: 'REQ/S', text: row => rate(row.requests), width: 6, rank: 90, sort: ['rate', row => row.requests] },
  ],
})

const BAR = 10

const budgets = section<BudgetLeft>({
  id: 'budgets',
  title: 'Budgets',
  empty: 'no local rate limit is configured',
  rows: rates => rates.budgets,
  key: ({ limit, counts, at }) => `${limit} ${counts} ${at}`,
  columns: [
    { title: 'BUDGET', text: row => shortLimit(row.limit), rank: ALWAYS, sort: ['name', row => shortLimit(row.limit)] },
    { title: 'COUNTS', text: row => row.counts, maxText: 8, rank: 60 },
    {
      title: 'LEFT',
      text: row => count(row.remaining),
      width: 6,
      rank: 90,
      sort: ['rate', row => 1 - leftOf(row)],
      tone: row => errorAbove(row.remaining === 0 ? 1 : 0),
    },
    { title: 'OF', text: row => count(row.capacity), width: 6, rank: 80 },
    { title: '', text: row => bar(leftOf(row), BAR), maxText: BAR, rank: 70 },
    { title: 'SET AT', text: row => row.at, maxText: 40, rank: 50, keepsEnd: true },
  ],
  details: row => [`Limit ${row.limit}`],
})

/** The route or policy of the limit, without the policy's own name and default namespaces. */
function shortLimit(limit: string): string {
  const parts = limit.replace(/^\w+:/, '').replace(/@.*$/, '').split('/')
  return parts
    .slice(-2)
    .join('/')
    .replace(/^default\//, '')
}

/** In the order in which they are dropped. */
export const SECTIONS: readonly Section[] = [
  trafficSection('routes', 'Routes', 'ROUTE', 'no requests yet'),
  models,
  budgets,
  mcp,
  trafficSection('backends', 'Backends', 'BACKEND', 'no request has gone to a backend yet'),
  a2a,
]

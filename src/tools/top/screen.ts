import type { Paint } from '../../diagnostics/paint.ts'
import { type Column, renderTable } from '../dump/table.ts'
import type { Rates } from './rates.ts'

const right = (title: string): Column => ({ title, align: 'right' })
const left = (title: string): Column => ({ title, align: 'left' })

interface TopOptions {
  readonly paint: Paint
  readonly width?: number
  readonly rows?: number
}

/** One look as text, at most `rows` lines. */
export function topText({ routes, models, budgets, total, inFlight }: Rates, options: TopOptions): string {
  const head = `${options.paint.bold(`${rate(total)} requests/s`)}, ${inFlight} in flight\n`
  const tables = [
    routes.length === 0 ? `${options.paint.dim('no request has come yet')}\n` : routeTable(routes, options),
    ...(models.length === 0 ? [] : [modelTable(models, options)]),
    ...(budgets.length === 0 ? [] : [budgetTable(budgets, options)]),
  ]
  const text = [head, ...tables].join('\n')
  const lines = text.split('\n')
  return options.rows === undefined || lines.length <= options.rows
    ? text
    : `${lines.slice(0, options.rows - 1).join('\n')}\n`
}

function routeTable(routes: Rates['routes'], options: TopOptions): string {
  return renderTable(
    [left('ROUTE'), right('REQ/S'), right('5XX/S'), right('429/S'), right('P50'), right('P99'), right('BYTES/S')],
    routes.map(route => [
      route.route,
      rate(route.requests),
      rate(route.failed),
      rate(route.limited),
      milliseconds(route.median),
      milliseconds(route.slow),
      size(route.bytes),
    ]),
    options,
  )
}

function modelTable(models: Rates['models'], options: TopOptions): string {
  const columns = ['CALLS/S', 'P50', 'P99', 'TOKENS IN/S', 'TOKENS OUT/S'].map(right)
  return renderTable(
    [left('MODEL'), left('PROVIDER'), ...columns],
    models.map(model => [
      model.model,
      model.provider,
      rate(model.calls),
      milliseconds(model.median),
      milliseconds(model.slow),
      rate(model.inputTokens),
      rate(model.outputTokens),
    ]),
    options,
  )
}

function budgetTable(budgets: Rates['budgets'], options: TopOptions): string {
  return renderTable(
    [left('BUDGET'), left('COUNTS'), right('LEFT'), right('OF'), left(''), left('SET AT')],
    budgets.map(({ limit, counts, remaining, capacity, at }) => [
      shortLimit(limit),
      counts,
      String(remaining),
      String(capacity),
      bar(remaining / Math.max(1, capacity)),
      at,
    ]),
    options,
  )
}

/** The route or policy that the limit stands on, without the policy's own name and the namespaces that go without saying. */
function shortLimit(limit: string): string {
  const parts = limit.replace(/^\w+:/, '').replace(/@.*$/, '').split('/')
  return parts
    .slice(-2)
    .join('/')
    .replace(/^default\//, '')
}

function bar(part: number): string {
  const full = Math.round(Math.min(1, Math.max(0, part)) * BAR)
  return '█'.repeat(full) + '░'.repeat(BAR - full)
}

const BAR = 10

function rate(value: number): string {
  return value === 0 ? '-' : value < 10 ? value.toFixed(1) : String(Math.round(value))
}

function milliseconds(value: number | undefined): string {
  return value === undefined
    ? '-'
    : value < 1000
      ? `${value.toFixed(value < 10 ? 1 : 0)}ms`
      : `${(value / 1000).toFixed(1)}s`
}

function size(bytes: number): string {
  if (bytes === 0) return '-'
  const step = Math.min(3, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  return `${(bytes / 1000 ** step).toFixed(step === 0 ? 0 : 1)}${['B', 'kB', 'MB', 'GB'][step]}`
}

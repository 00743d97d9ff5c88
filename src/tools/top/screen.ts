import type { Paint } from '../../diagnostics/paint.ts'
import { type Column, renderTable } from '../dump/table.ts'
import type { Rates } from './rates.ts'

const right = (title: string): Column => ({ title, align: 'right' })
const left = (title: string): Column => ({ title, align: 'left' })

/** One look as text, at most `rows` lines. */
export function topText(
  rates: Rates,
  options: { readonly paint: Paint; readonly width?: number; readonly rows?: number },
): string {
  const { routes, models, total, inFlight } = rates
  const routeTable = renderTable(
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
  const modelTable = renderTable(
    [left('MODEL'), left('PROVIDER'), right('CALLS/S'), right('TOKENS IN/S'), right('TOKENS OUT/S')],
    models.map(model => [
      model.model,
      model.provider,
      rate(model.calls),
      rate(model.inputTokens),
      rate(model.outputTokens),
    ]),
    options,
  )
  const head = `${options.paint.bold(`${rate(total)} requests/s`)}, ${inFlight} in flight\n`
  const text = `${head}\n${routeTable}${models.length === 0 ? '' : `\n${modelTable}`}`
  const lines = text.split('\n')
  return options.rows === undefined || lines.length <= options.rows
    ? text
    : `${lines.slice(0, options.rows - 1).join('\n')}\n`
}

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

import type { Paint } from '../../diagnostics/paint.ts'
import { type Column, renderTable } from '../terminal/text-table.ts'
import type { GroupName, Sums, Usage } from './read-usage.ts'

export interface UsageLayout {
  readonly by: readonly GroupName[]
  readonly paint: Paint
  readonly width?: number
}

const NUMBERS = ['requests', 'errors', 'input', 'output', 'tokens', 'cost', 'mean'] as const

/** A line per group, and a total. */
export function usageTable({ groups, total }: Usage, { by, paint, width }: UsageLayout): string {
  if (total.requests === 0) return 'no requests\n'
  const columns: Column[] = [
    ...by.map(title => ({ title, align: 'left' as const })),
    ...NUMBERS.map(title => ({ title, align: 'right' as const })),
  ]
  const rows = groups.map(group => [...group.by.map(name => String(name ?? '-')), ...cells(group)])
  const last = [...by.map((_, i) => (i === 0 ? 'total' : '')), ...cells(total)]
  const table = renderTable(columns, by.length > 0 ? [...rows, last] : [last], { paint, ...(width ? { width } : {}) })
  return total.unpriced > 0
    ? `${table}${paint.dim(`${total.unpriced} of ${total.requests} requests have no price: see \`config.modelCatalog\`.`)}\n`
    : table
}

export function usageJson({ groups, total }: Usage, by: readonly GroupName[]): string {
  const named = groups.map(({ by: names, ...sums }) => ({
    ...Object.fromEntries(by.map((name, i) => [name, names[i]])),
    ...sums,
  }))
  return `${JSON.stringify({ groups: named, total }, null, 2)}\n`
}

export function usageCsv({ groups }: Usage, by: readonly GroupName[]): string {
  const sums = ['requests', 'errors', 'inputTokens', 'outputTokens', 'totalTokens', 'cost', 'meanMs'] as const
  const lines = groups.map(group => [...group.by, ...sums.map(name => group[name])])
  return [[...by, ...sums], ...lines].map(line => `${line.map(csvCell).join(',')}\r\n`).join('')
}

function csvCell(value: string | number | null): string {
  const text = String(value ?? '')
  // A spreadsheet would evaluate these as formulas, and clients choose models and names.
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

function cells({ requests, errors, inputTokens, outputTokens, totalTokens, cost, meanMs }: Sums): string[] {
  return [
    grouped(requests),
    grouped(errors),
    grouped(inputTokens),
    grouped(outputTokens),
    grouped(totalTokens),
    cost === null ? '-' : `$${cost < 0.01 && cost > 0 ? cost.toPrecision(2) : cost.toFixed(2)}`,
    meanMs === null ? '-' : `${Math.round(meanMs)} ms`,
  ]
}

function grouped(value: number): string {
  return value.toLocaleString('en-US')
}

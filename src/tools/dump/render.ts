import type { Paint } from '../../diagnostics/paint.ts'
import { printYaml } from '../../diagnostics/print-yaml.ts'
import type { Dump } from '../config-dump/read.ts'
import type { View } from '../config-dump/views.ts'
import { type Column, renderTable } from '../terminal/text-table.ts'

const FORMATS = ['yaml', 'json', 'jsonl', 'table', 'wide', 'dot'] as const
export type DumpFormat = (typeof FORMATS)[number]

export interface RenderOptions {
  readonly paint: Paint
  /** Terminal width. */
  readonly width?: number
  /** Adds a column with the defining lines of each object. */
  readonly showOrigin: boolean
  /** For people: why there is no table. */
  note(text: string): void
}

/** The whole dump, unchanged. */
export function renderWhole(dump: Dump, format: 'yaml' | 'json' | 'jsonl'): string {
  if (format === 'json') return `${JSON.stringify(dump, null, 2)}\n`
  if (format === 'yaml') return printYaml(dump)
  return Object.entries(dump)
    .flatMap(([section, value]) => (Array.isArray(value) ? value : [value]).map(object => ({ section, object })))
    .map(line => `${JSON.stringify(line)}\n`)
    .join('')
}

export function renderRows(
  { columns, rows }: View,
  format: Exclude<DumpFormat, 'dot'>,
  options: RenderOptions,
  /** Printed instead of an empty table. */
  none: string,
): string {
  // An object with several rows, such as a backend with many endpoints, counts once.
  const values = [...new Set(rows.map(row => row.value))]
  if (format === 'json') return `${JSON.stringify(values, null, 2)}\n`
  if (format === 'jsonl') return values.map(value => `${JSON.stringify(value)}\n`).join('')
  if (format === 'yaml') return printYaml(values)
  if (rows.length === 0) {
    options.note(none)
    return ''
  }
  const withOrigin = options.showOrigin || format === 'wide'
  const all: readonly Column[] = withOrigin ? [...columns, { title: 'ORIGIN', align: 'left' }] : columns
  const cells = rows.map(row => (withOrigin ? [...row.cells, row.origins.join(' ')] : row.cells))
  const { paint, width } = options
  return renderTable(all, cells, { paint, ...(format === 'wide' || width === undefined ? {} : { width }) })
}

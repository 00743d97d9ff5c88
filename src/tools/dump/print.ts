import { Failure } from '../../diagnostics/failure.ts'
import { printYaml } from '../../diagnostics/print-yaml.ts'
import { printableJson } from '../../diagnostics/render/json.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import { type DumpDocument, modelOf } from '../config-dump/model.ts'
import type { Dump } from '../config-dump/read.ts'
import { VIEWS, type View, type ViewName, viewOf } from '../config-dump/views.ts'
import { dotOf } from './dot.ts'
import { effectivePolicies, effectiveText, findRoute } from './effective.ts'
import { type DumpFormat, type RenderOptions, renderRows, renderWhole } from './render.ts'
import type { Selection } from './select.ts'
import { unusedOf } from './unused.ts'

export interface Wanted {
  readonly view: string | undefined
  readonly format: DumpFormat | undefined
  readonly effective: string | undefined
  readonly unused: boolean
  /** Selects rows of one view. */
  readonly select?: Selection
}

/** Throws a Failure `usage` for combinations that no dump supports. */
export function checkWanted(wanted: Wanted): void {
  const format = usualFormat(wanted)
  const view = viewName(wanted.view)
  if (wanted.select && (format === 'dot' || (view === 'all' && !wanted.unused))) throw noRows(format)
  checkTogether(wanted, format)
}

/** The output of `gwctl dump`, after `checkWanted`. `name` is the dump's, for messages. Throws a Failure. */
export function print(dump: Dump, name: string, wanted: Wanted, options: RenderOptions): string {
  const format = usualFormat(wanted)
  const text = printed(dump, name, { ...wanted, format }, options)
  return format === 'json' || format === 'jsonl' ? printableJson(text) : text
}

function printed(
  dump: Dump,
  name: string,
  { effective, unused, select, format, ...wanted }: Wanted & { readonly format: DumpFormat },
  options: RenderOptions,
): string {
  const view = viewName(wanted.view)
  if (effective !== undefined) return printEffective(dump, name, effective, format, options)
  if (format === 'dot') return dotOf(modelOf(dump, name))
  if (unused || view !== 'all') {
    const model = modelOf(dump, name)
    const all = unused ? unusedView(model) : viewOf(view as ViewName, model)
    const chosen = select ? select(all, unused ? 'unused' : view) : all
    return renderRows(chosen, format, options, noneOf(all, unused ? 'unused' : view))
  }
  if (format === 'table' || format === 'wide') return printTables(dump, name, format, options)
  return renderWhole(dump, format)
}

/** The given format, or the best one for what is wanted. */
export function usualFormat({ view = 'all', format, effective, unused }: Wanted): DumpFormat {
  return format ?? (effective !== undefined || unused || view !== 'all' ? 'table' : 'yaml')
}

/** Rejects options that would silently have no effect. */
function checkTogether({ view = 'all', effective, unused }: Wanted, format: DumpFormat): void {
  const flag = effective !== undefined ? '--effective' : unused ? '--unused' : undefined
  const help = 'Leave one of them out.'
  if (flag !== undefined && view !== 'all') throw new Failure('usage', `${flag} takes no view, not ${view}.`, { help })
  if (format !== 'dot' || (flag === undefined && view === 'all')) return
  throw new Failure('usage', `a graph shows the whole configuration, not ${flag ?? view} alone.`, { help })
}

function noRows(format: DumpFormat): Failure {
  const message = format === 'dot' ? 'a graph has no rows to select from.' : '--select needs a view to select from.'
  return new Failure('usage', message, { help: 'Name one: `gwctl dump routes --select \'kind == "tcp"\'`.' })
}

function viewName(given = 'all'): ViewName | 'all' {
  if (given === 'all') return given
  const known = VIEWS.find(view => view === given)
  if (known !== undefined) return known
  const guess = didYouMean(given, VIEWS)
  throw new Failure('usage', `there is no view ${given}${guess === undefined ? '.' : `: ${guess}`}`, {
    help: `Views: all, ${VIEWS.join(', ')}.`,
  })
}

function printEffective(dump: Dump, name: string, wanted: string, format: DumpFormat, options: RenderOptions): string {
  const model = modelOf(dump, name)
  const route = findRoute(model, wanted)
  if (format === 'table' || format === 'wide') return effectiveText(model, route, options.paint)
  const policies = effectivePolicies(model, route)
  if (format === 'jsonl') return policies.map(policy => `${JSON.stringify(policy)}\n`).join('')
  const value = { route: route.key, origin: route.origin, policies }
  return format === 'json' ? `${JSON.stringify(value, null, 2)}\n` : printYaml(value)
}

function printTables(dump: Dump, name: string, format: 'table' | 'wide', options: RenderOptions): string {
  const model = modelOf(dump, name)
  const tables = VIEWS.filter(view => view !== 'summary').flatMap(view => {
    const all = viewOf(view, model)
    return all.rows.length > 0 ? [renderRows(all, format, options, '')] : []
  })
  if (tables.length === 0) options.note('Nothing is loaded.')
  return tables.join('\n')
}

/** Why there are no rows. */
function noneOf({ rows }: View, name: string): string {
  if (rows.length > 0) return `--select matches none of ${rows.length}.`
  if (name === 'unused') return 'Everything is used.'
  return `There are no ${name === 'mcp' ? 'MCP targets' : name}.`
}

function unusedView(model: DumpDocument): View {
  return {
    columns: ['KIND', 'NAME', 'WHY'].map(title => ({ title, align: 'left' })),
    rows: unusedOf(model).map(each => ({
      value: each,
      cells: [each.kind, each.name, each.why],
      origins: each.origin === '' ? [] : [each.origin],
    })),
  }
}

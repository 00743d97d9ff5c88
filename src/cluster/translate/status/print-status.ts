import { printYaml } from '../../../diagnostics/print-yaml.ts'
import { asFields, asItems, type Fields } from '../../../schema/untyped.ts'
import type { Status } from './conditions.ts'

/** One YAML document per resource: the status that a controller would write, without times. */
export function printStatuses(statuses: readonly Status[]): string {
  return statuses.map(each => `---\n${printYaml(documentOf(each))}`).join('')
}

function documentOf({ resource, status }: Status): Fields {
  const { name, namespace, raw } = resource
  return {
    apiVersion: raw.apiVersion,
    kind: resource.kindName,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    status,
  }
}

/** One line per condition, for people. */
export function printStatusTable(statuses: readonly Status[]): string {
  const rows = [['RESOURCE', 'OF', 'CONDITION', 'REASON', 'MESSAGE'], ...statuses.flatMap(rowsOf)]
  const widths = [0, 1, 2, 3].map(column => Math.max(...rows.map(row => row[column]!.length)))
  const lines = rows.map(row =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return `${lines.join('\n')}\n`
}

function rowsOf({ resource, status }: Status): string[][] {
  const label = `${resource.kindName} ${resource.namespace}/${resource.name}`
  const of = (owner: string, conditions: unknown): string[][] =>
    asItems(conditions).map(({ type, status: value, reason, message }) => [
      label,
      owner,
      `${String(type)}=${String(value)}`,
      String(reason),
      String(message).replaceAll('\n', '; '),
    ])
  const named = (ref: unknown): string => {
    const { kind, name, sectionName } = asFields(ref) ?? {}
    return `${kind === undefined ? '' : `${String(kind)} `}${String(name)}${sectionName === undefined ? '' : `#${String(sectionName)}`}`
  }
  return [
    ...of('', status.conditions),
    ...asItems(status.listeners).flatMap(each => of(`listener ${String(each.name)}`, each.conditions)),
    ...asItems(status.parents).flatMap(each => of(named(each.parentRef), each.conditions)),
    ...asItems(status.ancestors).flatMap(each => of(named(each.ancestorRef), each.conditions)),
  ]
}

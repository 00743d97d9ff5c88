import { printYaml } from '../../diagnostics/print-yaml.ts'
import type { CodeFacts, Explained, VariableFacts } from './explain.ts'
import type { FieldFacts, FieldForm, FieldSummary } from './fields.ts'

/** Default and maximum width: longer lines are hard to read. */
const WIDEST = 100
/** Minimum width of wrapped text, however narrow the terminal is. */
const NARROWEST = 24

/** For people; `columns` of their terminal. */
export function explainedText(explained: Explained, columns = WIDEST): string {
  const width = Math.min(columns, WIDEST)
  switch (explained.about) {
    case 'code':
      return codeText(explained.facts, width)
    case 'variable':
      return variableText(explained.facts, width)
    case 'field':
      return fieldText(explained.facts, width)
  }
}

function codeText({ code, severity, title, text }: CodeFacts, width: number): string {
  return `${code}: ${title} (${severity})\n\n${wrap(text, '', width)}\n`
}

function variableText({ name, type, doc, scopes, fields }: VariableFacts, width: number): string {
  const head = `${name} (${type})\n\n${wrap(doc, '', width)}\n\nIn: ${scopes}\n`
  if (fields.length === 0) return head
  const rows = fields.map(each => [each.name, each.type, each.doc])
  return `${head}\nFIELDS\n${table(rows, width)}`
}

function fieldText(facts: FieldFacts, width: number): string {
  const doc = facts.doc === '' ? '' : `${wrap(facts.doc, '', width)}\n\n`
  const below = facts.fields.length === 0 ? '' : `\nFIELDS\n${fieldList(facts.fields, width)}`
  const forms = facts.forms?.map(form => formText(form, width)).join('')
  const others = facts.others?.map(path => `  ${path}\n`).join('')
  const also = others === undefined ? '' : `\nOTHER FIELDS OF THIS NAME\n${others}`
  return `${titleOf(facts)}\n\n${doc}${table(rowsOf(facts), width)}${forms ?? below}${also}`
}

/** One of the alternative forms of the value. */
function formText({ path, rules, fields }: FieldForm, width: number): string {
  const said = rules.length === 0 ? '' : `${wrap(rules.join('; '), '  ', width)}\n`
  return `\nFIELDS OF ${path.endsWith('[]') ? 'EACH ITEM, AS A LIST' : 'A MAP'}\n${said}${fieldList(fields, width)}`
}

export function titleOf({ path }: FieldFacts): string {
  return path === '' ? 'standalone configuration' : path
}

/** The facts about a field, with their labels. */
export function rowsOf(facts: FieldFacts): [string, string][] {
  return [
    ['type', facts.type],
    ['required', facts.required ? 'yes' : undefined],
    ['default', facts.default === undefined ? undefined : printYaml(facts.default).trim()],
    ['limits', facts.limits.join('; ') || undefined],
    ['also', facts.aliases.join(', ') || undefined],
    ['rules', (facts.forms === undefined && facts.rules.join('; ')) || undefined],
    ['see', facts.spec === undefined ? undefined : `specification, ${facts.spec}`],
    ['not served', facts.unserved],
    ['no effect', facts.inert],
    ['deprecated', facts.deprecated],
  ].filter((row): row is [string, string] => row[1] !== undefined)
}

/** With nested fields, the tree says more than their summaries. */
function fieldList(fields: readonly FieldSummary[], width: number): string {
  if (fields.some(field => field.fields)) return tree(fields, '  ')
  const rows = fields.map(({ name, required, doc }) => [name, required ? 'required' : '', doc])
  return table(rows, width)
}

function tree(fields: readonly FieldSummary[], indent: string): string {
  return fields
    .map(({ name, type, required, fields: below = [] }) => {
      return `${indent}${name} <${type}>${required ? ' required' : ''}\n${tree(below, `${indent}  `)}`
    })
    .join('')
}

/** Columns as wide as their longest word; the last one is wrapped. */
function table(rows: readonly (readonly string[])[], width: number): string {
  const columns = rows[0]?.length ?? 0
  const widths = Array.from({ length: columns - 1 }, (_, i) => Math.max(...rows.map(row => row[i]!.length)))
  const indent = 2 + widths.reduce((sum, cells) => sum + (cells === 0 ? 0 : cells + 2), 0)
  const lines = rows.map(row => {
    const cells = widths.map((cells, i) => (cells === 0 ? '' : `${row[i]!.padEnd(cells)}  `))
    return `  ${cells.join('')}${wrap(row.at(-1)!, ' '.repeat(indent), width).trimStart()}`.trimEnd()
  })
  return lines.map(line => `${line}\n`).join('')
}

function wrap(text: string, indent: string, width: number): string {
  const room = Math.max(width - indent.length, NARROWEST)
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= room) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines.map(line => `${indent}${line}`).join('\n')
}

import { printYaml } from '../../diagnostics/print-yaml.ts'
import type { CodeFacts, Explained, VariableFacts } from './explain.ts'
import type { FieldFacts, FieldSummary } from './fields.ts'

/** For people at a terminal. */
export function explainedText(explained: Explained): string {
  switch (explained.about) {
    case 'code':
      return codeText(explained.facts)
    case 'variable':
      return variableText(explained.facts)
    case 'field':
      return fieldText(explained.facts)
  }
}

function codeText({ code, severity, title, text }: CodeFacts): string {
  return `${code}: ${title} (${severity})\n\n${wrap(text, '')}\n`
}

function variableText({ name, type, doc, scopes, fields }: VariableFacts): string {
  const head = `${name} (${type})\n\n${wrap(doc, '')}\n\nIn: ${scopes}\n`
  return fields.length === 0 ? head : `${head}\nFIELDS\n${table(fields.map(each => [each.name, each.type, each.doc]))}`
}

function fieldText(facts: FieldFacts): string {
  const doc = facts.doc === '' ? '' : `${wrap(facts.doc, '')}\n\n`
  const below = facts.fields.length === 0 ? '' : `\nFIELDS\n${fieldList(facts.fields)}`
  return `${titleOf(facts)}\n\n${doc}${table(rowsOf(facts))}${below}`
}

export function titleOf({ path }: FieldFacts): string {
  return path === '' ? 'standalone configuration' : path
}

/** What there is to say about a field, each with its name. */
export function rowsOf(facts: FieldFacts): [string, string][] {
  return [
    ['type', facts.type],
    ['required', facts.required ? 'yes' : undefined],
    ['default', facts.default === undefined ? undefined : printYaml(facts.default).trim()],
    ['limits', facts.limits.join('; ') || undefined],
    ['also', facts.aliases.join(', ') || undefined],
    ['rules', facts.rules.join('; ') || undefined],
    ['see', facts.spec === undefined ? undefined : `specification, ${facts.spec}`],
    ['not served', facts.unserved],
    ['no effect', facts.inert],
    ['deprecated', facts.deprecated],
  ].filter((row): row is [string, string] => row[1] !== undefined)
}

/** With what they hold in turn, the tree says more than the words. */
function fieldList(fields: readonly FieldSummary[]): string {
  if (fields.some(field => field.fields)) return tree(fields, '  ')
  return table(fields.map(({ name, required, doc }) => [name, required ? 'required' : '', doc]))
}

function tree(fields: readonly FieldSummary[], indent: string): string {
  return fields
    .map(({ name, type, required, fields: below = [] }) => {
      return `${indent}${name} <${type}>${required ? ' required' : ''}\n${tree(below, `${indent}  `)}`
    })
    .join('')
}

const WIDTH = 100

/** Columns as wide as their longest word; the last one is wrapped. */
function table(rows: readonly (readonly string[])[]): string {
  const columns = rows[0]?.length ?? 0
  const widths = Array.from({ length: columns - 1 }, (_, i) => Math.max(...rows.map(row => row[i]!.length)))
  const indent = 2 + widths.reduce((sum, width) => sum + (width === 0 ? 0 : width + 2), 0)
  const lines = rows.map(row => {
    const cells = widths.map((width, i) => (width === 0 ? '' : `${row[i]!.padEnd(width)}  `))
    return `  ${cells.join('')}${wrap(row.at(-1)!, ' '.repeat(indent)).trimStart()}`.trimEnd()
  })
  return lines.map(line => `${line}\n`).join('')
}

function wrap(text: string, indent: string): string {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && indent.length + last.length + 1 + word.length <= WIDTH)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines.map(line => `${indent}${line}`).join('\n')
}

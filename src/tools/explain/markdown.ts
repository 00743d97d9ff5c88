import type { CodeFacts, Explained, VariableFacts } from './explain.ts'
import type { FieldFacts, FieldSummary } from './fields.ts'
import { rowsOf, titleOf } from './text.ts'

/** For pages and chats. */
export function explainedMarkdown(explained: Explained): string {
  switch (explained.about) {
    case 'code':
      return codePage(explained.facts)
    case 'variable':
      return variablePage(explained.facts)
    case 'field':
      return fieldPage(explained.facts)
  }
}

function codePage({ code, severity, title, text }: CodeFacts): string {
  return `# ${code}: ${title}\n\n*${severity}* ${text}\n`
}

function variablePage({ name, type, doc, scopes, fields }: VariableFacts): string {
  const head = `# \`${name}\`\n\n*${type}* ${doc}\n\nIn: ${scopes}\n`
  return fields.length === 0 ? head : `${head}\n${table(['Field', 'Type', ''], fields.map(rowOf))}`
}

function fieldPage(facts: FieldFacts): string {
  const title = facts.path === '' ? titleOf(facts) : `\`${titleOf(facts)}\``
  const doc = facts.doc === '' ? '' : `${facts.doc}\n\n`
  const about = rowsOf(facts).map(([name, text]) => `- **${name}**: ${escaped(text)}\n`)
  const forms = facts.forms?.map(({ path, fields }) => `\n### \`${path}\`\n${fieldsPart(fields)}`).join('')
  const others = facts.others?.map(path => `- \`${path}\`\n`).join('')
  const also = others === undefined ? '' : `\n## Other fields of this name\n\n${others}`
  return `# ${title}\n\n${doc}${about.join('')}${forms ?? fieldsPart(facts.fields)}${also}`
}

function fieldsPart(fields: readonly FieldSummary[]): string {
  if (fields.length === 0) return ''
  if (fields.some(field => field.fields)) return `\n## Fields\n\n${list(fields, '')}`
  const rows = fields.map(field => {
    const [name, type, doc] = rowOf(field)
    return [name, type, field.required ? 'required' : '', doc]
  })
  return `\n## Fields\n\n${table(['Field', 'Type', '', ''], rows)}`
}

function list(fields: readonly FieldSummary[], indent: string): string {
  return fields
    .map(({ name, type, required, doc, fields: below = [] }) => {
      const says = doc === '' ? '' : ` ${doc.replaceAll('\n', ' ')}`
      return `${indent}- \`${name}\` (${escaped(type)}${required ? ', required' : ''})${says}\n${list(below, `${indent}  `)}`
    })
    .join('')
}

function rowOf(field: { readonly name: string; readonly type: string; readonly doc: string }) {
  return [`\`${field.name}\``, field.type, field.doc] as const
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map(cells => `| ${cells.map(escaped).join(' | ')} |\n`).join('')
}

/** `<` begins HTML outside of code, and `|` ends a cell anywhere. */
function escaped(text: string): string {
  const parts = text.replaceAll('|', '\\|').replaceAll('\n', ' ').split('`')
  return parts.map((part, i) => (i % 2 === 0 ? part.replaceAll('<', '&lt;') : part)).join('`')
}

import { standalone } from '../../src/config/standalone/standalone.ts'
import { CODES } from '../../src/diagnostics/codes.ts'
import type { Node, ObjectNode } from '../../src/schema/builder.ts'
import { typeNames } from '../../src/schema/describe.ts'
import { factsOf } from '../../src/tools/explain/fields.ts'
import type { Generator } from './generator.ts'

/** docs/reference: the pages that say what the declarations say. */
export const reference: Generator = {
  name: 'reference',
  async outputs() {
    return new Map([
      ['docs/reference/diagnostics.md', diagnosticsPage()],
      ['docs/reference/standalone.md', standalonePage()],
    ])
  },
}

const GROUPS: Readonly<Record<string, string>> = {
  GW0: 'Text',
  GW1: 'Fields and values',
  GW2: 'References',
  GW3: 'Expressions',
  GW4: 'Attachment and translation',
  GW5: 'Lint',
  GW6: 'Valid but not served yet',
}

function diagnosticsPage(): string {
  const sections = Object.entries(GROUPS).map(([prefix, title]) => {
    const entries = Object.entries(CODES).filter(([code]) => code.startsWith(prefix))
    const parts = entries.map(
      ([code, { severity, title: name, text }]) => `### ${code}: ${name}\n\n*${severity}* ${text}\n`,
    )
    return entries.length === 0 ? '' : `## ${title}\n\n${parts.join('\n')}`
  })
  return `# Diagnostics

Every finding of \`gwctl validate\` has a code that never changes its meaning. \`gwctl explain CODE\` prints the same text.

${sections.filter(section => section !== '').join('\n')}`
}

/** Every object once, in the order in which a reader meets them; those that look the same share one section. */
function standalonePage(): string {
  const found = new Map<ObjectNode, string>()
  collect(standalone.node, found, new Map())
  const first = new Map([...found].reverse().map(([node, title]) => [title, node]))
  const titles = [...new Set(found.values())]
  const sections = titles.map((title, i) => `${i === 0 ? '' : `## ${title}\n\n`}${section(first.get(title)!, found)}`)
  return `# The standalone file

Every field of the configuration that \`gwctl run\` serves and \`gwctl validate\` checks. \`gwctl explain FIELD\` says more about each.

${sections.join('\n')}`
}

function collect(node: Node, found: Map<ObjectNode, string>, titles: Map<string, string>): void {
  for (const object of objectsIn(node)) {
    if (found.has(object)) continue
    const looks = looksOf(object)
    const namesakes = [...titles.values()].filter(title => title.replace(/ \(\d+\)$/, '') === object.name).length
    const title = titles.get(looks) ?? (namesakes === 0 ? object.name : `${object.name} (${namesakes + 1})`)
    titles.set(looks, title)
    found.set(object, title)
    for (const field of Object.values(object.fields)) collect(field.schema.node, found, titles)
  }
}

function looksOf(object: ObjectNode): string {
  const fields = Object.entries(object.fields).map(([name, { schema, doc, mode }]) => {
    return [name, mode, doc, typeNames(schema.node), objectsIn(schema.node).map(each => each.name)]
  })
  return JSON.stringify([object.name, fields])
}

function objectsIn(node: Node): ObjectNode[] {
  switch (node.kind) {
    case 'object':
      return [node]
    case 'lazy':
      return objectsIn(node.get().node)
    case 'list':
      return objectsIn(node.item.node)
    case 'map':
      return objectsIn(node.value.node)
    case 'parsed':
      return objectsIn(node.base.node)
    case 'shapes':
      return [node.object, node.list].flatMap(schema => (schema ? objectsIn(schema.node) : []))
    default:
      return []
  }
}

function section(node: ObjectNode, found: ReadonlyMap<ObjectNode, string>): string {
  const rules = factsOf('', '', node, undefined).rules
  const rows = Object.entries(node.fields).map(([name, field]) => {
    const facts = factsOf(name, name, field.schema.node, field)
    const links = objectsIn(field.schema.node).map(object => `[${found.get(object)}](#${anchor(found.get(object)!)})`)
    const type = links.length > 0 && !facts.type.includes(' or ') ? links.join(', ') : [facts.type, ...links].join(': ')
    const more = [
      facts.doc,
      facts.limits.length > 0 && `Limits: ${facts.limits.join('; ')}.`,
      facts.aliases.length > 0 && `Also \`${facts.aliases.join('`, `')}\`.`,
      facts.deprecated && `Deprecated: ${facts.deprecated}`,
      facts.unserved && `Not served yet: ${facts.unserved}`,
      facts.inert && `No effect: ${facts.inert}`,
    ].filter(part => part !== false && part !== undefined && part !== '')
    const fallback = facts.required
      ? 'required'
      : facts.default === undefined
        ? ''
        : `\`${JSON.stringify(facts.default)}\``
    return `| \`${name}\` | ${cell(type)} | ${cell(fallback)} | ${cell(more.join(' '))} |`
  })
  const table =
    rows.length === 0 ? 'No fields.\n' : `| Field | Value | Default | |\n|---|---|---|---|\n${rows.join('\n')}\n`
  return `${rules.map(rule => `Takes ${rule}.\n\n`).join('')}${table}`
}

function anchor(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}

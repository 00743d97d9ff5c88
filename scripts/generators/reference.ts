import { standalone } from '../../src/config/standalone/standalone.ts'
import { CODES } from '../../src/diagnostics/codes.ts'
import type { Node, ObjectNode } from '../../src/schema/builder.ts'
import { typeNames } from '../../src/schema/describe.ts'
import { factsOf } from '../../src/tools/explain/fields.ts'
import type { Generator } from './generator.ts'

/** docs/reference: the pages that say what the declarations say. */
export const reference: Generator = {
  name: 'reference',
  owns: ['docs/reference'],
  async outputs() {
    return new Map([['docs/reference/diagnostics.md', diagnosticsPage()], ...standalonePages()])
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

const FOLDER = 'docs/reference/standalone'
/** The page of what several sections refer to. */
const SHARED = 'shared'

interface Entry {
  readonly title: string
  readonly node: ObjectNode
  /** The page that it stands on. */
  page: string
}

/**
 * A page for each section, in the order in which a reader meets the objects, each once; those that look the same are
 * one. What several sections use stands on a page of its own.
 */
function standalonePages(): [string, string][] {
  const root = standalone.node as ObjectNode
  const found = new Map<ObjectNode, Entry>()
  const byLooks = new Map<string, Entry>()
  for (const [name, field] of Object.entries(root.fields)) collect(field.schema.node, name, found, byLooks)
  const entries = [...byLooks.values()]
  const pages = [...new Set(entries.map(({ page }) => page))].filter(page => page !== SHARED)
  const link = (page: string) => (node: ObjectNode) => {
    const { title, page: at } = found.get(node)!
    return `[${title}](${at === page ? '' : page === '' ? `standalone/${at}.md` : `${at}.md`}#${anchor(title)})`
  }
  const index = `# The standalone file

Every field of the configuration that \`gwctl run\` serves and \`gwctl validate\` checks. \`gwctl explain FIELD\` says more about each, \`gwctl explain FIELD --recursive\` shows what is below it. What several sections have in common is on [one page](standalone/${SHARED}.md).

${section(root, link(''))}`
  const texts = [...pages, SHARED].map((page): [string, string] => {
    const own = entries.filter(each => each.page === page)
    const head = page === SHARED ? '# Shared by several sections' : `# \`${page}\``
    const parts = own.map(({ title, node }) => `## ${title}\n\n${section(node, link(page))}`)
    return [`${FOLDER}/${page}.md`, `${head}\n\n[All sections](../standalone.md)\n\n${parts.join('\n')}`]
  })
  return [['docs/reference/standalone.md', index], ...texts]
}

function collect(node: Node, page: string, found: Map<ObjectNode, Entry>, byLooks: Map<string, Entry>): void {
  for (const object of objectsIn(node)) {
    const looks = looksOf(object)
    const known = byLooks.get(looks)
    const namesakes = [...byLooks.values()].filter(({ node: { name } }) => name === object.name).length
    const title = namesakes === 0 ? object.name : `${object.name} (${namesakes + 1})`
    const entry = known ?? { title, node: object, page }
    byLooks.set(looks, entry)
    const moves = entry.page !== page && entry.page !== SHARED
    if (moves) entry.page = SHARED
    if (found.has(object) && !moves) continue
    found.set(object, entry)
    for (const field of Object.values(object.fields)) collect(field.schema.node, entry.page, found, byLooks)
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

function section(node: ObjectNode, link: (node: ObjectNode) => string): string {
  const rules = factsOf('', '', node, undefined).rules
  const rows = Object.entries(node.fields).map(([name, field]) => {
    const facts = factsOf(name, name, field.schema.node, field)
    const links = objectsIn(field.schema.node).map(link)
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

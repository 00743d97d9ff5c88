import { KINDS } from '../../src/cluster/kinds/index.ts'
import { standalone } from '../../src/config/standalone/standalone.ts'
import { type FieldPlace, fieldsBelow } from '../../src/tools/explain/fields.ts'
import type { Generator } from './generator.ts'

/** docs/served.md: what is served, what is valid but not served yet, and since when. */
export const served: Generator = {
  name: 'served',
  async outputs() {
    return new Map([['docs/served.md', page()]])
  },
}

/** The version that serves everything that is not listed below. */
const FIRST = '0.1.0'
/** What a later version has begun to serve, by the path that the table shows. */
const SINCE: Readonly<Record<string, string>> = {}

/** Fields deeper than this are served with the one that they stand in, unless they say otherwise. */
const DEPTH = 2
/** Policies and providers stand deeper, and are what people look for. */
const LISTED = /^(?:policies\[\]\.policy|routes\[\]\.policies|backends\[\]\.ai\.provider)\.\w+$/

interface Row {
  readonly path: string
  readonly state: string
  readonly text: string
  others: number
}

function page(): string {
  const rows = rowsOf([...fieldsBelow('', standalone)].filter(isShown))
  const waiting = rows.filter(({ state }) => state !== 'served').length
  const kinds = KINDS.map(
    ({ kind }) =>
      `| \`${kind}\` | served | ${SINCE[kind] ?? FIRST} | Resource: [translated](translate.md), with what could not be carried over. |\n`,
  )
  return `# What is served

Every section, policy and provider of the standalone file, and every kind of resource. What is valid in the public system's file but not served yet is a warning of \`gwctl validate\` (GW601) and stops \`gwctl run\`: nothing is ignored silently. A field that is not listed is served with the one that it stands in.

${rows.length - waiting} served, ${waiting} not served yet, ${KINDS.length} kinds of resources.

| Field | State | Since | |
|---|---|---|---|
${rows.map(rowText).join('')}${kinds.join('')}`
}

function isShown({ path, names, field }: FieldPlace): boolean {
  return field.unserved !== undefined || names.length <= DEPTH || LISTED.test(path)
}

/** What has the same name and the same words in several places comes once. */
function rowsOf(places: readonly FieldPlace[]): readonly Row[] {
  const rows = new Map<string, Row>()
  for (const { path, names, field } of places) {
    const state = field.unserved === undefined ? 'served' : 'not yet (GW601)'
    const text = field.unserved ?? field.inert ?? field.doc
    const key = [names.at(-1), state, text].join('|')
    const known = rows.get(key)
    if (known) known.others++
    else rows.set(key, { path, state, text, others: 0 })
  }
  return [...rows.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

function rowText({ path, state, text, others }: Row): string {
  const more = others === 0 ? '' : ` and ${others} more place${others === 1 ? '' : 's'}`
  const since = state === 'served' ? (SINCE[path] ?? FIRST) : ''
  const words = text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|')
  return `| \`${path}\`${more} | ${state} | ${since} | ${/[.!?]$/.test(words) ? words : `${words}.`} |\n`
}

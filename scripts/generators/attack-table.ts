import { readFile } from 'node:fs/promises'
import { AREAS } from '../attack/areas.mjs'
import type { Generator } from './generator.ts'

const PATH = 'SECURITY.md'
const BEGIN = '<!-- attacks: written by `npm run generate` from scripts/attack -->'
const END = '<!-- /attacks -->'

/** The table of SECURITY.md: the attacks of `npm run attack`. */
export const attackTable: Generator = {
  name: 'attack-table',
  async outputs() {
    const text = await readFile(new URL(`../../${PATH}`, import.meta.url), 'utf8')
    const [start, end] = [text.indexOf(BEGIN), text.indexOf(END)]
    if (start < 0 || end < start) throw new Error(`${PATH} has no place for the attack table: ${BEGIN} … ${END}`)
    return new Map([[PATH, `${text.slice(0, start)}${BEGIN}\n${table()}${text.slice(end)}`]])
  },
}

function table(): string {
  const parts = AREAS.filter(({ attacks }) => attacks.length > 0).map(({ title, attacks }) => {
    const rows = attacks.map(({ name, defends }) => `| ${cell(name)} | ${cell(defends)} |`)
    return `### ${title}\n\n| Attack | What holds |\n|---|---|\n${rows.join('\n')}\n`
  })
  return `\n${parts.join('\n')}\n`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}

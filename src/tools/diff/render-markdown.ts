import { markdownText } from '../../diagnostics/render/github.ts'
import type { Diff } from './diff.ts'
import type { Requests } from './requests.ts'
import {
  countWords,
  decisionWords,
  fieldPlace,
  fieldWords,
  listWords,
  outcomeWords,
  placeWords,
  requestCountWords,
  requestWords,
} from './words.ts'

/** Per table: comments on pull requests are limited to 65,536 characters. */
const MAX_CHARACTERS = 30_000

/** For a comment on a pull request. */
export function renderMarkdown({ before, after, changes, requests }: Diff): string {
  const title = `### gwctl diff: ${markdownText(before)} → ${markdownText(after)}\n`
  const heard = requests === undefined ? '' : requestTable(requests)
  if (changes.length === 0) return `${title}\n${countWords(changes)}\n${heard}`
  const rows = changes.flatMap(change => {
    const others = change.also.length === 0 ? '' : ` (also ${listWords(change.also)})`
    const name = change.newLabel === undefined ? change.label : `${change.label} → ${change.newLabel}`
    const object = row(change.change, `${name}${others}`, change.summary, placeWords(change.before, change.after))
    const fields = change.fields.map(field => row('', '', fieldWords(field), fieldPlace(field)))
    return [object, ...fields]
  })
  const objects = table(['', 'Object', 'Difference', 'Place'], rows)
  return `${title}${heard}\n<details><summary>${countWords(changes)}</summary>\n\n${objects}\n</details>\n`
}

function requestTable(requests: Requests): string {
  const rows = requests.differ.map(each => {
    const more = each.more === 0 ? '' : ` (and ${each.more} more like it)`
    return row(`${requestWords(each)}${more}`, each.differences.map(outcomeWords).join('; '), decisionWords(each))
  })
  const shown = rows.length === 0 ? '' : `\n${table(['Request', 'Before → after', 'Decided by'], rows)}`
  return `\n${requestCountWords(requests)}\n${shown}`
}

/** As many rows as fit, and the number of the others. */
function table(titles: readonly string[], rows: readonly string[]): string {
  let room = MAX_CHARACTERS
  const end = rows.findIndex(each => {
    room -= each.length
    return room < 0
  })
  const left = end < 0 ? 0 : rows.length - end
  const more = left > 0 ? `\n${left} more ${left === 1 ? 'line is' : 'lines are'} left out.\n` : ''
  return `${row(...titles)}|${'---|'.repeat(titles.length)}\n${rows.slice(0, rows.length - left).join('')}${more}`
}

function row(...cells: readonly string[]): string {
  return `| ${cells.map(markdownText).join(' | ')} |\n`
}

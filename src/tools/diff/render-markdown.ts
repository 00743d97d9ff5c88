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

/** Comments of pull requests hold 65,536 characters. */
const MOST_ROWS = 100

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
  const more = rows.length > MOST_ROWS ? `\n${rows.length - MOST_ROWS} more lines are left out.\n` : ''
  const table = `| | Object | Difference | Place |\n|---|---|---|---|\n${rows.slice(0, MOST_ROWS).join('')}`
  return `${title}${heard}\n<details><summary>${countWords(changes)}</summary>\n\n${table}${more}\n</details>\n`
}

function requestTable(requests: Requests): string {
  const rows = requests.differ.slice(0, MOST_ROWS).map(each => {
    const more = each.more === 0 ? '' : ` (and ${each.more} more like it)`
    return row(`${requestWords(each)}${more}`, each.differences.map(outcomeWords).join('; '), decisionWords(each))
  })
  const table = rows.length === 0 ? '' : `\n| Request | Before → after | Decided by |\n|---|---|---|\n${rows.join('')}`
  return `\n${requestCountWords(requests)}\n${table}`
}

function row(...cells: readonly string[]): string {
  return `| ${cells.map(markdownText).join(' | ')} |\n`
}

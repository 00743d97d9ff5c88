import { markdownText } from '../../diagnostics/render/github.ts'
import type { Diff } from './diff.ts'
import { countWords, fieldPlace, fieldWords, listWords, placeWords } from './words.ts'

/** Comments of pull requests hold 65,536 characters. */
const MOST_ROWS = 100

/** For a comment on a pull request. */
export function renderMarkdown({ before, after, changes }: Diff): string {
  const title = `### gwctl diff: ${markdownText(before)} → ${markdownText(after)}\n`
  if (changes.length === 0) return `${title}\n${countWords(changes)}\n`
  const rows = changes.flatMap(change => {
    const others = change.also.length === 0 ? '' : ` (also ${listWords(change.also)})`
    const name = change.newLabel === undefined ? change.label : `${change.label} → ${change.newLabel}`
    const object = row(change.change, `${name}${others}`, change.summary, placeWords(change.before, change.after))
    const fields = change.fields.map(field => row('', '', fieldWords(field), fieldPlace(field)))
    return [object, ...fields]
  })
  const more = rows.length > MOST_ROWS ? `\n${rows.length - MOST_ROWS} more lines are left out.\n` : ''
  const table = `| | Object | Difference | Place |\n|---|---|---|---|\n${rows.slice(0, MOST_ROWS).join('')}`
  return `${title}\n<details><summary>${countWords(changes)}</summary>\n\n${table}${more}\n</details>\n`
}

function row(...cells: readonly string[]): string {
  return `| ${cells.map(markdownText).join(' | ')} |\n`
}

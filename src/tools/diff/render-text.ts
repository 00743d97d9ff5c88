import type { Paint } from '../../diagnostics/paint.ts'
import { visible } from '../../diagnostics/visible.ts'
import type { Diff } from './diff.ts'
import type { Change } from './structure.ts'
import { countWords, fieldPlace, fieldWords, listWords, MARKS, placeWords } from './words.ts'

/** For people, at a terminal or in a log. */
export function renderText({ changes }: Diff, paint: Paint): string {
  const lines = changes.flatMap(change => changeLines(change, paint))
  return [...lines, paint.bold(countWords(changes))].map(line => `${line}\n`).join('')
}

function changeLines(change: Change, paint: Paint): string[] {
  const { label, newLabel, summary, before, after, fields, also } = change
  const color = { added: paint.success, removed: paint.error, changed: paint.warning, renamed: paint.info }[
    change.change
  ]
  const renamed = newLabel === undefined ? '' : newLabel === label ? ' has another name' : ` is now ${newLabel}`
  const words = visible(`${label}${summary === '' ? '' : `: ${summary}`}${renamed}`)
  const place = visible(placeWords(before, after))
  const others = also.length === 0 ? [] : [`    ${paint.dim(visible(`also ${listWords(also)}`))}`]
  return [
    `${color(`${MARKS[change.change]} ${words}`)}${place === '' ? '' : paint.dim(`  ${place}`)}`,
    ...fields.map(field => {
      const at = fieldPlace(field)
      return `    ${visible(fieldWords(field))}${at === '' ? '' : paint.dim(`  ${visible(at)}`)}`
    }),
    ...others,
  ]
}

import type { Paint } from '../../diagnostics/paint.ts'
import { visible } from '../../diagnostics/visible.ts'
import type { Diff } from './diff.ts'
import type { RequestDifference } from './requests.ts'
import type { Change } from './structure.ts'
import {
  countWords,
  decisionWords,
  fieldPlace,
  fieldWords,
  listWords,
  MARKS,
  outcomeWords,
  placeWords,
  requestCountWords,
  requestWords,
} from './words.ts'

/** For people, at a terminal or in a log. */
export function renderText({ changes, requests }: Diff, paint: Paint): string {
  const lines = [...alike(changes).flatMap(group => groupLines(group, paint)), paint.bold(countWords(changes))]
  if (requests !== undefined && (changes.length > 0 || requests.tried > 0)) {
    const { differ } = requests
    const more = differ.length - MOST_REQUESTS
    if (differ.length > 0) lines.push('')
    lines.push(...differ.slice(0, MOST_REQUESTS).flatMap(each => requestLines(each, paint)))
    if (more > 0) lines.push(paint.dim(`and ${more} more; -o json has them all`))
    lines.push(paint.bold(requestCountWords(requests)))
  }
  return lines.map(line => `${line}\n`).join('')
}

function requestLines(each: RequestDifference, paint: Paint): string[] {
  const [first, ...others] = each.differences.map(outcomeWords).map(visible)
  const more =
    each.more === 0
      ? []
      : [`    ${paint.dim(`and ${each.more} more ${each.more === 1 ? 'request' : 'requests'} like it`)}`]
  return [
    `${paint.bold(`${visible(requestWords(each))}:`)} ${first} ${paint.dim(`(${visible(decisionWords(each))})`)}`,
    ...others.map(text => `    ${text}`),
    ...more,
  ]
}

/** Nobody reads more of them at once. */
const MOST_REQUESTS = 30

/** Of so many objects that differ in the same way, the first stand for all. */
const MANY = 10
const SHOWN = 3

function alike(changes: readonly Change[]): readonly (readonly Change[])[] {
  const sameWords = ({ change, kind, label, fields }: Change) =>
    fields.length === 0 ? [change, kind, kind === 'policy' ? label.replace(/ of .*/s, '') : ''] : fields.map(fieldWords)
  return [...Map.groupBy(changes, each => JSON.stringify(sameWords(each))).values()]
}

function groupLines(group: readonly Change[], paint: Paint): string[] {
  if (group.length <= MANY) return group.flatMap(change => changeLines(change, paint))
  const shown = group.slice(0, SHOWN).flatMap(change => changeLines(change, paint))
  return [...shown, `    ${paint.dim(`and ${group.length - SHOWN} more like it; -o json has them all`)}`]
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

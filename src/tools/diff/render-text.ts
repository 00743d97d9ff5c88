import type { Paint } from '../../diagnostics/paint.ts'
import { visible } from '../../diagnostics/visible.ts'
import type { Diff } from './diff.ts'
import type { RequestDifference, Requests } from './requests.ts'
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

export interface TextOptions {
  readonly paint: Paint
  /** Terminal width; notes beside a line move below it if both do not fit. */
  readonly width?: number | undefined
}

/** For people, at a terminal or in a log. */
export function renderText({ changes, requests }: Diff, { paint, width }: TextOptions): string {
  const page = new Page(paint, width ?? Number.POSITIVE_INFINITY)
  for (const group of alike(changes)) page.group(group)
  page.line(paint.bold(countWords(changes)))
  if (requests !== undefined && (changes.length > 0 || requests.tried > 0)) page.requests(requests)
  return page.text
}

/** More would not be read at once. */
const MAX_REQUESTS = 30

/** From this many objects that differ in the same way, the first ones represent all. */
const MANY = 10
const SHOWN = 3

function alike(changes: readonly Change[]): readonly (readonly Change[])[] {
  const sameWords = ({ change, kind, label, fields }: Change) =>
    fields.length === 0 ? [change, kind, kind === 'policy' ? label.replace(/ of .*/s, '') : ''] : fields.map(fieldWords)
  return [...Map.groupBy(changes, each => JSON.stringify(sameWords(each))).values()]
}

const INDENT = '    '

class Page {
  text = ''
  readonly #paint: Paint
  readonly #width: number

  constructor(paint: Paint, width: number) {
    this.#paint = paint
    this.#width = width
  }

  group(group: readonly Change[]): void {
    if (group.length <= MANY) {
      for (const change of group) this.#change(change)
      return
    }
    for (const change of group.slice(0, SHOWN)) this.#change(change)
    this.#note(`and ${group.length - SHOWN} more like it; -o json has them all`)
  }

  requests({ differ, tried }: Requests): void {
    if (differ.length > 0) this.line('')
    for (const each of differ.slice(0, MAX_REQUESTS)) this.#request(each)
    const more = differ.length - MAX_REQUESTS
    if (more > 0) this.line(this.#paint.dim(`and ${more} more; -o json has them all`))
    this.line(this.#paint.bold(requestCountWords({ differ, tried })))
  }

  line(text: string): void {
    this.text += `${text}\n`
  }

  #change(change: Change): void {
    const { label, newLabel, summary, before, after, fields, also } = change
    const { success, error, warning, info } = this.#paint
    const color = { added: success, removed: error, changed: warning, renamed: info }[change.change]
    const renamed = newLabel === undefined ? '' : newLabel === label ? ' has another name' : ` is now ${newLabel}`
    const words = `${MARKS[change.change]} ${label}${summary === '' ? '' : `: ${summary}`}${renamed}`
    this.#beside(words, color, placeWords(before, after))
    for (const field of fields) this.#beside(`${INDENT}${fieldWords(field)}`, text => text, fieldPlace(field))
    if (also.length > 0) this.#note(`also ${listWords(also)}`)
  }

  #request(each: RequestDifference): void {
    const [first = '', ...others] = each.differences.map(outcomeWords)
    const asked = `${requestWords(each)}:`
    const bold = (text: string) => this.#paint.bold(asked) + text.slice(asked.length)
    this.#beside(`${asked} ${first}`, text => (text.startsWith(asked) ? bold(text) : text), `(${decisionWords(each)})`)
    for (const text of others) this.line(`${INDENT}${visible(text)}`)
    if (each.more > 0) this.#note(`and ${each.more} more ${each.more === 1 ? 'request' : 'requests'} like it`)
  }

  #beside(words: string, color: (text: string) => string, note: string): void {
    const [text, aside] = [visible(words), visible(note)]
    const gap = note.startsWith('(') ? ' ' : '  '
    if (aside === '') this.line(color(text))
    else if (text.length + gap.length + aside.length <= this.#width)
      this.line(color(text) + gap + this.#paint.dim(aside))
    else this.line(`${color(text)}\n${INDENT}${text.startsWith(INDENT) ? INDENT : ''}${this.#paint.dim(aside)}`)
  }

  #note(text: string): void {
    this.line(`${INDENT}${this.#paint.dim(visible(text))}`)
  }
}

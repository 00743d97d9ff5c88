import type { RequestDifference, Requests } from './requests.ts'
import type { Change, FieldChange, FieldValue } from './structure.ts'
import type { OutcomeDifference } from './witness/outcome.ts'

/** Longer values are truncated; `-o json` has them whole. */
const LONGEST = 72

/** `default/chat and default/chat2`, `a, b, c and 497 more` */
export function listWords(names: readonly string[], most = 3): string {
  const shown = names.length > most + 1 ? names.slice(0, most) : names
  const rest = names.length - shown.length
  if (rest > 0) return `${shown.join(', ')} and ${rest} more`
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}

/** `a.yaml:12 → b.yaml:14` */
export function placeWords(before: string, after: string): string {
  if (before === '' || after === '' || before === after) return before || after
  return `${before} → ${after}`
}

/** `timeout.request: 10s → 30s` */
export function fieldWords({ field, before, after }: FieldChange): string {
  const name = field === '' ? '' : `${field}: `
  const same = before !== undefined && after !== undefined && valueWords(before) === valueWords(after)
  const hint = !same ? '' : before.value === '<redacted>' ? ' (another value)' : ' (cut here)'
  return `${name}${valueWords(before)} → ${valueWords(after)}${hint}`
}

export function fieldPlace({ before, after }: FieldChange): string {
  return placeWords(before?.at ?? '', after?.at ?? '')
}

function valueWords(side: FieldValue | undefined): string {
  if (side === undefined) return 'unset'
  const text = typeof side.value === 'string' ? side.value : (JSON.stringify(side.value) ?? 'unset')
  const cut = clip(text.replaceAll(/\s+/g, ' '))
  return side.default ? `${cut} (default)` : cut
}

function clip(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text
}

export const MARKS: Readonly<Record<Change['change'], string>> = {
  added: '+',
  removed: '-',
  changed: '~',
  renamed: '=',
}

/** `3 objects differ: 1 added, 2 changed` */
export function countWords(changes: readonly Change[]): string {
  if (changes.length === 0) return 'No object differs.'
  const counts = (['added', 'removed', 'changed', 'renamed'] as const).flatMap(change => {
    const count = changes.filter(each => each.change === change).length
    return count === 0 ? [] : [`${count} ${change}`]
  })
  return `${changes.length} ${changes.length === 1 ? 'object differs' : 'objects differ'}: ${counts.join(', ')}.`
}

/** `POST localhost:8080/v1 with role=contractor` */
export function requestWords({ request, with: words, call }: RequestDifference): string {
  const address = request.url.replace(/^\w+:\/\//, '')
  const more = [...words, ...(call > 1 ? [`call ${call}`] : [])]
  return `${request.method} ${address}${more.length === 0 ? '' : ` with ${more.join(', ')}`}`
}

/** `200 → 403`, `response header location: /a → /b` */
export function outcomeWords({ what, before, after }: OutcomeDifference): string {
  const cut = (text: string) => clip(text.replaceAll(/\s+/g, ' '))
  const same = cut(before) === cut(after) ? ' (another value)' : ''
  return `${what === 'status' ? '' : `${what}: `}${cut(before)} → ${cut(after)}${same}`
}

/** `route default/chat, backend 127.0.0.1:1 → policy authorization, a.yaml:14 → b.yaml:12` */
export function decisionWords({ before, after }: RequestDifference): string {
  const parts = [
    routeWords(before.route, after.route),
    before.step === after.step ? before.step : `${before.step} → ${after.step}`,
    placeWords(before.at, after.at),
  ]
  return parts.filter(part => part !== '').join(', ')
}

/** `3 of 120 requests …` */
export function requestCountWords({ tried, differ }: Requests): string {
  if (tried === 0) return 'No request was tried: no route can have changed.'
  const more = differ.reduce((sum, each) => sum + each.more + 1, 0)
  if (more === 0) return `None of ${tried} requests that were tried gets something else.`
  return `${more} of ${tried} requests that were tried ${more === 1 ? 'gets' : 'get'} something else.`
}

function routeWords(before = '', after = ''): string {
  if (before === after) return before === '' ? '' : `route ${before}`
  if (before === '' || after === '') return `route ${before || after}`
  return `route ${before} → ${after}`
}

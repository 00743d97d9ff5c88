import type { Change, FieldChange, FieldValue } from './structure.ts'

/** Longer values are cut: they stand whole in `-o json`. */
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
  const line = text.replaceAll(/\s+/g, ' ')
  const cut = line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line
  return side.default ? `${cut} (default)` : cut
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

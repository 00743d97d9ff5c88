/** What a field name means to a connection; everything else goes through. */
export type FieldKind = 'keep' | 'hop' | 'connection' | 'content-length' | 'transfer-encoding' | 'host' | 'expect'

/**
 * Sorts a field by its name in any spelling. The length is looked at first, so that nearly every field is done after
 * one comparison of numbers.
 */
export function fieldKind(name: string): FieldKind {
  switch (name.length) {
    case 4:
      return equals(name, 'host') ? 'host' : 'keep'
    case 6:
      return equals(name, 'expect') ? 'expect' : 'keep'
    case 7:
      return equals(name, 'upgrade') ? 'hop' : 'keep'
    case 10:
      if (equals(name, 'connection')) return 'connection'
      return equals(name, 'keep-alive') ? 'hop' : 'keep'
    case 14:
      return equals(name, 'content-length') ? 'content-length' : 'keep'
    case 16:
      return equals(name, 'proxy-connection') ? 'hop' : 'keep'
    case 17:
      return equals(name, 'transfer-encoding') ? 'transfer-encoding' : 'keep'
    default:
      return 'keep'
  }
}

/** Removes the fields that `connection` lists, from `fields` (name, value, ...) in place. */
export function dropListed(fields: string[], connection: string): void {
  const lower = connection.toLowerCase()
  if (lower === 'close' || lower === 'keep-alive') return
  for (const part of lower.split(',')) {
    const listed = part.trim()
    if (listed === '' || listed === 'close' || listed === 'keep-alive') continue
    for (let i = fields.length - 2; i >= 0; i -= 2) {
      if ((fields[i] as string).toLowerCase() === listed) fields.splice(i, 2)
    }
  }
}

function equals(name: string, lower: string): boolean {
  return name === lower || ((name.charCodeAt(0) | 32) === lower.charCodeAt(0) && name.toLowerCase() === lower)
}

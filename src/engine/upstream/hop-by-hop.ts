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
      if (equals(name, 'content-length')) return 'content-length'
      return equals(name, 'http2-settings') ? 'hop' : 'keep'
    case 16:
      return equals(name, 'proxy-connection') ? 'hop' : 'keep'
    case 17:
      return equals(name, 'transfer-encoding') ? 'transfer-encoding' : 'keep'
    default:
      return 'keep'
  }
}

/**
 * Removes the fields that `connection` lists, from `fields` (name, value, ...) in place. Those that frame or route the
 * message stay, whatever the list says, and so does `te`, which each hop writes anew.
 */
export function dropListed(fields: string[], connection: string): void {
  if (connection === 'close' || connection === 'keep-alive') return
  const listed = new Set<string>()
  for (const option of connection.split(',')) {
    const name = option.trim().toLowerCase()
    if (name !== '' && name !== 'close' && name !== 'te' && fieldKind(name) === 'keep') listed.add(name)
  }
  if (listed.size > 0) dropFields(fields, name => listed.has(name))
}

/** Removes the fields whose name in lower case is `unwanted`, from `fields` in place. */
export function dropFields(fields: string[], unwanted: (name: string) => boolean): void {
  let kept = 0
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (unwanted(name.toLowerCase())) continue
    fields[kept] = name
    fields[kept + 1] = fields[i + 1] as string
    kept += 2
  }
  fields.length = kept
}

function equals(name: string, lower: string): boolean {
  return name === lower || ((name.charCodeAt(0) | 32) === lower.charCodeAt(0) && name.toLowerCase() === lower)
}

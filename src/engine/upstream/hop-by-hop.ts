import { equalsIgnoreCase } from '../../http/ignore-case.ts'

/** How a field name affects the connection; everything else is forwarded. */
export type FieldKind = 'keep' | 'hop' | 'connection' | 'content-length' | 'transfer-encoding' | 'host' | 'expect'

/**
 * Classifies a field by name, case-insensitively. Length is checked first, so that most fields cost one comparison of
 * numbers.
 */
export function fieldKind(name: string): FieldKind {
  switch (name.length) {
    case 4:
      return equalsIgnoreCase(name, 'host') ? 'host' : 'keep'
    case 6:
      return equalsIgnoreCase(name, 'expect') ? 'expect' : 'keep'
    case 7:
      return equalsIgnoreCase(name, 'upgrade') ? 'hop' : 'keep'
    case 10:
      if (equalsIgnoreCase(name, 'connection')) return 'connection'
      return equalsIgnoreCase(name, 'keep-alive') ? 'hop' : 'keep'
    case 14:
      if (equalsIgnoreCase(name, 'content-length')) return 'content-length'
      return equalsIgnoreCase(name, 'http2-settings') ? 'hop' : 'keep'
    case 16:
      return equalsIgnoreCase(name, 'proxy-connection') ? 'hop' : 'keep'
    case 17:
      return equalsIgnoreCase(name, 'transfer-encoding') ? 'transfer-encoding' : 'keep'
    default:
      return 'keep'
  }
}

/**
 * Removes the fields listed in `connection` from `fields` (name, value, ...) in place. Framing and routing fields stay,
 * whatever the list says, and so does `te`, which each hop rewrites.
 */
export function dropListed(fields: string[], connection: string): void {
  if (equalsIgnoreCase(connection, 'close') || equalsIgnoreCase(connection, 'keep-alive')) return
  const listed = new Set<string>()
  for (const option of connection.split(',')) {
    const name = option.trim().toLowerCase()
    if (name !== '' && name !== 'close' && name !== 'te' && fieldKind(name) === 'keep') listed.add(name)
  }
  if (listed.size > 0) dropFields(fields, name => listed.has(name))
}

/** Removes the fields whose lower-case name is `unwanted` from `fields` in place. */
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

/** Whether `connection` lists an option. */
export function listsOption(connection: string, option: string): boolean {
  if (!connection.includes(',')) return equalsIgnoreCase(connection, option)
  return connection.split(',').some(each => equalsIgnoreCase(each.trim(), option))
}

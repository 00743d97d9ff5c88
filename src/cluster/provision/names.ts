import { createHash } from 'node:crypto'

/** Valid as the name of a Service and as a label value. */
const LABEL = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/

/** A name that is valid for every kind: the Gateway's own, or its prefix with a hash. */
export function safeName(name: string): string {
  if (LABEL.test(name)) return name
  const plain = name.replaceAll(/[^-a-z0-9]/g, '-').replace(/^(?![a-z])/, 'gw-')
  return `${plain.slice(0, 50).replace(/-+$/, '')}-${sha256(name).slice(0, 12)}`
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

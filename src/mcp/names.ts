import type { RequestId } from './message.ts'

/** Target names contain neither `_` nor `+`, so the first one always ends the target's name. */
export interface Targeted<T = string> {
  readonly target: string
  readonly name: T
}

export function prefixName(target: string, name: string): string {
  return `${target}_${name}`
}

export function splitName(name: string): Targeted | undefined {
  return splitAt(name, '_')
}

const UI = 'ui://'

/** `file:///a` of target `fs` is `fs+file:///a`. MCP Apps require the scheme `ui`, which therefore stays in front. */
export function prefixUri(target: string, uri: string): string {
  return uri.startsWith(UI) ? `${UI}${target}+${uri.slice(UI.length)}` : `${target}+${uri}`
}

export function splitUri(uri: string): Targeted | undefined {
  if (!uri.startsWith(UI)) return splitAt(uri, '+')
  const parts = splitAt(uri.slice(UI.length), '+')
  return parts && { target: parts.target, name: UI + parts.name }
}

/** Two targets may use the same request id, so the client gets one that encodes the target and the id's type. */
export function prefixId(target: string, id: RequestId): string {
  return `agw_${target}_${typeof id === 'number' ? 'n' : 's'}_${id}`
}

export function splitId(id: unknown): Targeted<RequestId> | undefined {
  const parts = typeof id === 'string' ? /^agw_([^_]+)_([ns])_(.*)$/s.exec(id) : null
  if (!parts) return undefined
  const [, target, type, text] = parts as unknown as [string, string, string, string]
  if (type === 's') return { target, name: text }
  const number = Number(text)
  return String(number) === text && Number.isSafeInteger(number) ? { target, name: number } : undefined
}

function splitAt(text: string, separator: string): Targeted | undefined {
  const at = text.indexOf(separator)
  return at <= 0 ? undefined : { target: text.slice(0, at), name: text.slice(at + 1) }
}

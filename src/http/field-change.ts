import { isFieldName, toFieldValue } from './field-value.ts'
import type { HeaderList } from './headers.ts'

/** One header field that a service wants in a request or a response. */
export interface FieldChange {
  /** In lower case. */
  readonly name: string
  /** Undefined: it cannot be the value of a header, so whatever stood under the name goes: nobody may take it for the service's word. */
  readonly value: string | undefined
  readonly action: 'set' | 'append' | 'addIfAbsent' | 'setIfPresent'
}

/** Undefined for a name that a service has no say about. */
export function fieldChange(name: string, text: string, action: FieldChange['action']): FieldChange | undefined {
  const lower = name.toLowerCase()
  return isChangeable(lower) ? { name: lower, value: toFieldValue(text), action } : undefined
}

export function applyChange(headers: HeaderList, { name, value, action }: FieldChange): void {
  if (value === undefined) headers.delete(name)
  else if (action === 'append') headers.append(name, value)
  else if (action === 'set') headers.set(name, value)
  else if (headers.has(name) === (action === 'setIfPresent')) headers.set(name, value)
}

/** What frames a message, concerns one connection, or says for whom a request is. */
const OWN: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Whether a service may see and change fields of this name, in lower case. */
export function isChangeable(name: string): boolean {
  return isFieldName(name) && !OWN.has(name)
}

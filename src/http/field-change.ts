import { isFieldName, toFieldValue } from './field-value.ts'
import type { HeaderList } from './headers.ts'

/** A header change that an external service requests. */
export interface FieldChange {
  /** In lower case. */
  readonly name: string
  /**
   * Undefined if it is not a valid header value. The existing field is then removed, lest it be taken for the
   * service's.
   */
  readonly value: string | undefined
  readonly action: 'set' | 'append' | 'addIfAbsent' | 'setIfPresent'
}

/** Undefined for a name that services may not change. */
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

/** Framing, connection-specific and routing fields. */
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

/** Whether a service may see and change this field; `name` in lower case. */
export function isChangeable(name: string): boolean {
  return isFieldName(name) && !OWN.has(name)
}

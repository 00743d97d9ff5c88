import { isChangeable } from '../../../http/field-change.ts'
import type { HeaderList } from '../../../http/headers.ts'

/**
 * A request's fields as sent to a service: one per name, so that they cannot be read ambiguously, and without
 * connection-specific ones.
 */
export function sentFields(headers: HeaderList, only: readonly string[] | undefined): [name: string, value: string][] {
  const out: [string, string][] = []
  for (const name of only ?? headers.names()) {
    if (!isChangeable(name) && (only !== undefined || name !== 'content-length')) continue
    const values = headers.getAll(name)
    if (values.length > 0) out.push([name, values.join(name === 'cookie' ? '; ' : ', ')])
  }
  return out
}

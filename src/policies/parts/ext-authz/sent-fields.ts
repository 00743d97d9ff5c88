import { isChangeable } from '../../../http/field-change.ts'
import type { HeaderList } from '../../../http/headers.ts'

/**
 * The fields of a request as a service gets them: one for each name, so that nobody can read them in two ways. What
 * concerns the client's connection is not among them.
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

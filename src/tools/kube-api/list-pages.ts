import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import type { ApiClient, Refusal } from './api-client.ts'

const PAGE = 500

/** `version`: of the list, from which a watch continues. */
export type Listed = { readonly items: readonly Fields[]; readonly version: string } | { readonly refusal: Refusal }

/** All items of a list; `query` is added to its path. */
export async function listAll(client: ApiClient, path: string, query = ''): Promise<Listed> {
  const items: Fields[] = []
  const base = `${path}?${query === '' ? '' : `${query}&`}`
  let next = `limit=${PAGE}`
  for (let pages = 0; ; pages++) {
    const answer = await client.get(base + next)
    if ('refusal' in answer) {
      // The list has expired on the server: it is read again in a single page, which cannot expire.
      if (answer.refusal.status !== 410 || pages === 0) return answer
      items.length = 0
      next = 'limit=0'
      pages = -1
      continue
    }
    items.push(...asItems(answer.value.items))
    const { resourceVersion, continue: token } = asFields(answer.value.metadata) ?? {}
    if (!asText(token)) return { items, version: asText(resourceVersion) ?? '' }
    next = `limit=${PAGE}&continue=${encodeURIComponent(String(token))}`
  }
}

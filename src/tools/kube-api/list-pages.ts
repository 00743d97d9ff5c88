import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import type { ApiClient, Refusal } from './api-client.ts'

const PAGE = 500

export type Listed = { readonly items: readonly Fields[] } | { readonly refusal: Refusal }

/** All items of a list, whose path has the query `query` besides. */
export async function listAll(client: ApiClient, path: string, query = ''): Promise<Listed> {
  const items: Fields[] = []
  const base = `${path}?${query === '' ? '' : `${query}&`}`
  let next = `limit=${PAGE}`
  for (let pages = 0; ; pages++) {
    const answer = await client.get(base + next)
    if ('refusal' in answer) {
      // The list is older than what the server keeps: then all at once, which cannot grow old.
      if (answer.refusal.status !== 410 || pages === 0) return answer
      items.length = 0
      next = 'limit=0'
      pages = -1
      continue
    }
    items.push(...asItems(answer.value.items))
    const token = asText(asFields(answer.value.metadata)?.continue)
    if (token === undefined) return { items }
    next = `limit=${PAGE}&continue=${encodeURIComponent(token)}`
  }
}

import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import type { Answer, Refusal } from './api-client.ts'

const PAGE = 500

/** `version`: of the list, where a watch goes on from. */
export type Listed = { readonly items: readonly Fields[]; readonly version: string } | { readonly refusal: Refusal }

export interface Getting {
  get(path: string): Promise<Answer>
}

/** All items of a list, whose path has the query `query` besides. */
export async function listAll(client: Getting, path: string, query = ''): Promise<Listed> {
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
    const { resourceVersion, continue: token } = asFields(answer.value.metadata) ?? {}
    if (!asText(token)) return { items, version: asText(resourceVersion) ?? '' }
    next = `limit=${PAGE}&continue=${encodeURIComponent(String(token))}`
  }
}

import { defined, isObject, type JsonObject, listOf, numberOf, objectOf, textOf } from '../../chat/json.ts'
import { Untranslatable } from '../../chat/losses.ts'
import type { PlainReply } from '../../chat/plain-conversion.ts'

/** The members of a request in Cohere's form, which others have adopted. */
export const RERANK_FIELDS = ['query', 'documents', 'top_n', 'return_documents']

export interface Ranking {
  readonly query: string
  readonly texts: readonly string[]
  /** The requested number of results. */
  readonly most: number
  readonly echoed: boolean
}

export function rankingOf({ query, documents, top_n, return_documents }: JsonObject): Ranking {
  const text = textOf(query)
  if (text === undefined) throw new Untranslatable('query', 'is required')
  const list = listOf(documents)
  if (list.length === 0) throw new Untranslatable('documents', 'is required')
  const texts = list.map((document, i) => {
    const text = typeof document === 'string' ? document : textOf(objectOf(document).text)
    if (text === undefined) throw new Untranslatable(`documents[${i}]`, 'must be a text, or an object with `text`')
    return text
  })
  return { query: text, texts, most: numberOf(top_n) ?? texts.length, echoed: return_documents === true }
}

/** The provider's results: index and relevance of each document. */
export function rerankReply(
  body: JsonObject,
  model: string,
  results: readonly { readonly index: unknown; readonly score: unknown }[] | undefined,
): PlainReply {
  if (results === undefined) throw new Untranslatable('', 'the provider sent no ranking')
  const { texts, echoed } = rankingOf(body)
  return {
    body: {
      model,
      results: results.map(({ index, score }) => {
        const text = texts[Number(index)]
        if (text === undefined) throw new Untranslatable('', 'the provider has ranked a document that it was not sent')
        const document = echoed ? { text } : undefined
        return defined({ index: Number(index), relevance_score: numberOf(score) ?? 1, document })
      }),
    },
  }
}

/** The objects of a list that a response must have. */
export function objectsIn(value: unknown, name: string): readonly JsonObject[] | undefined {
  if (!isObject(value) || !Array.isArray(value[name])) return undefined
  return value[name].map(objectOf)
}

// Model stubs of calls that are no conversation: vectors, rankings and counts of tokens.
import { isObject, type JsonObject, listOf, textOf } from '../../llm/chat/json.ts'
import { embeddingsReply } from '../../llm/formats/embeddings/input.ts'
import { jsonReply, type StubReply } from './stub-transport.ts'

const VECTOR = [0, 0, 0]

/** Undefined for other calls. `path`: without a query. `tokens`: those of the input. */
export function plainReply(path: string, body: JsonObject, tokens: number): StubReply | undefined {
  if (path.endsWith('/count_tokens') || path.endsWith('/count-tokens:rawPredict')) {
    return jsonReply({ input_tokens: tokens })
  }
  if (path.endsWith(':countTokens')) return jsonReply({ totalTokens: tokens })
  if (path.endsWith('/count-tokens')) return jsonReply({ inputTokens: tokens })
  if (path.endsWith('/embeddings')) return jsonReply(embeddings(body, tokens))
  if (path.endsWith('/invoke')) return invoked(body, tokens)
  if (path.endsWith(':predict')) return jsonReply({ predictions: predictions(listOf(body.instances), tokens) })
  if (path.endsWith(':rank')) {
    return jsonReply({ records: listOf(body.records).map((each, i) => ({ id: idOf(each, i), score: score(i) })) })
  }
  return path.endsWith('/rerank') ? jsonReply({ results: ranked(body) }) : undefined
}

function embeddings({ model, input }: JsonObject, tokens: number): JsonObject {
  const one = !Array.isArray(input) || typeof input[0] === 'number'
  return embeddingsReply(
    (one ? [input] : input).map(() => VECTOR),
    textOf(model) ?? 'stub',
    tokens,
  )
}

/** Each family of Bedrock's embedding models has its own form. */
function invoked({ texts, singleEmbeddingParams }: JsonObject, tokens: number): StubReply {
  const embeddings = Array.isArray(texts) ? texts.map(() => VECTOR) : [{ embedding: VECTOR }]
  const made = Array.isArray(texts) || isObject(singleEmbeddingParams)
  const { headers = [], ...reply } = jsonReply(
    made ? { embeddings } : { embedding: VECTOR, inputTextTokenCount: tokens },
  )
  return { ...reply, headers: [...headers, ['x-amzn-bedrock-input-token-count', String(tokens)]] }
}

function predictions(instances: readonly unknown[], tokens: number): JsonObject[] {
  return instances.map((_, i) => ({
    embeddings: { values: VECTOR, statistics: { token_count: i === 0 ? tokens : 0 } },
  }))
}

/** In the order of the request: Bedrock's form, or Cohere's. */
function ranked({ sources, documents }: JsonObject): JsonObject[] {
  return Array.isArray(sources)
    ? sources.map((_, index) => ({ index, relevanceScore: score(index) }))
    : listOf(documents).map((_, index) => ({ index, relevance_score: score(index) }))
}

function idOf(record: unknown, index: number): unknown {
  return isObject(record) && record.id !== undefined ? record.id : String(index)
}

function score(index: number): number {
  return 1 / (index + 1)
}

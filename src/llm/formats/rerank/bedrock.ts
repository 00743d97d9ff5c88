// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_agent-runtime_Rerank.html
import type { PlainCodec } from '../../chat/plain-conversion.ts'
import { decodeError } from '../converse/errors.ts'
import { loseOthers } from '../embeddings/input.ts'
import { objectsIn, RERANK_FIELDS, rankingOf, rerankReply } from './cohere.ts'

export function bedrockRerank(region: string): PlainCodec {
  return {
    errors: { decode: decodeError },
    request(body, { model }, losses) {
      loseOthers(body, [...RERANK_FIELDS, 'max_tokens_per_doc'], losses)
      const { query, texts, most } = rankingOf(body)
      const limit = body.max_tokens_per_doc
      const modelConfiguration = {
        modelArn: model.startsWith('arn:') ? model : `arn:aws:bedrock:${region}::foundation-model/${model}`,
        ...(limit === undefined ? {} : { additionalModelRequestFields: { max_tokens_per_doc: limit } }),
      }
      return {
        queries: [{ type: 'TEXT', textQuery: { text: query } }],
        sources: texts.map(text => ({
          type: 'INLINE',
          inlineDocumentSource: { type: 'TEXT', textDocument: { text } },
        })),
        rerankingConfiguration: {
          type: 'BEDROCK_RERANKING_MODEL',
          bedrockRerankingConfiguration: { modelConfiguration, numberOfResults: most },
        },
      }
    },
    reply(value, { body, model }) {
      const results = objectsIn(value, 'results')
      return rerankReply(
        body,
        model,
        results?.map(({ index, relevanceScore }) => ({ index, score: relevanceScore })),
      )
    },
  }
}

import { labelOf } from '../../chat/json.ts'
// https://cloud.google.com/generative-ai-app-builder/docs/ranking
import type { PlainCodec } from '../../chat/plain-conversion.ts'
import { loseOthers } from '../embeddings/input.ts'
import { googleErrors } from '../generate-content/errors.ts'
import { objectsIn, RERANK_FIELDS, rankingOf, rerankReply } from './cohere.ts'

export const vertexRerank: PlainCodec = {
  errors: googleErrors,
  request(body, { model }, losses) {
    loseOthers(body, RERANK_FIELDS, losses)
    const { query, texts, most, echoed } = rankingOf(body)
    return {
      model,
      query,
      records: texts.map((content, i) => ({ id: labelOf(i), content })),
      topN: most,
      ignoreRecordDetailsInResponse: !echoed,
    }
  },
  reply(value, { body, model }) {
    const records = objectsIn(value, 'records')
    return rerankReply(
      body,
      model,
      records?.map(({ id, score }) => ({ index: id, score })),
    )
  },
}

// The embedding models of Vertex AI: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api
import { countOf, defined, isObject, listOf, objectOf } from '../../chat/json.ts'
import { Untranslatable } from '../../chat/losses.ts'
import type { PlainCodec } from '../../chat/plain-conversion.ts'
import { googleErrors } from '../generate-content/errors.ts'
import { embeddingsReply, inputsOf, loseOthers, vectorFor } from './input.ts'

const TAKEN = ['task_type', 'title', 'auto_truncate', 'dimensions', 'encoding_format']

/** Fields of Vertex AI that OpenAI's request lacks are passed beside its own. */
export const vertexEmbeddings: PlainCodec = {
  errors: googleErrors,
  request(body, _asked, losses) {
    loseOthers(body, TAKEN, losses)
    const about = defined({ task_type: body.task_type ?? 'RETRIEVAL_QUERY', title: body.title })
    const parameters = defined({ autoTruncate: body.auto_truncate, outputDimensionality: body.dimensions })
    return {
      instances: inputsOf(body).map(content => ({ content, ...about })),
      ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    }
  },
  reply(value, { body, model }) {
    const found = (isObject(value) ? listOf(value.predictions) : []).map(each => objectOf(objectOf(each).embeddings))
    if (found.length === 0) throw new Untranslatable('', 'the provider sent no embedding')
    const tokens = found.reduce((sum, each) => sum + (countOf(objectOf(each.statistics).token_count) ?? 0), 0)
    return {
      body: embeddingsReply(
        found.map(each => vectorFor(body, each.values)),
        model,
        tokens,
      ),
      usage: { input: tokens, total: tokens },
    }
  },
}

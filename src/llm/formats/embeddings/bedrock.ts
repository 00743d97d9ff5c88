// The embedding models of Amazon Bedrock; each family has its own body for `invoke`.
import type { HeaderList } from '../../../http/headers.ts'
import { countOf, defined, isObject, listOf } from '../../chat/json.ts'
import { Untranslatable } from '../../chat/losses.ts'
import type { PlainCodec, PlainReply } from '../../chat/plain-conversion.ts'
import { decodeError } from '../converse/errors.ts'
import { embeddingsReply, floatsIn, inputsOf, loseOthers, onlyInput, vectorFor } from './input.ts'

const errors = { decode: decodeError }

const titan: PlainCodec = {
  errors,
  request(body, _asked, losses) {
    loseOthers(body, ['dimensions', 'normalize', 'encoding_format'], losses)
    return defined({ inputText: onlyInput(body), dimensions: body.dimensions, normalize: body.normalize })
  },
  reply(value, { body, model }) {
    if (!isObject(value)) throw new Untranslatable('', 'the provider sent no embedding')
    const vector = value.embedding ?? floatsIn(value.embeddingsByType)
    return replyOf([vectorFor(body, vector)], model, countOf(value.inputTextTokenCount))
  },
}

const cohere: PlainCodec = {
  errors,
  request(body, { model }, losses) {
    const versioned = model.includes('embed-v4')
    loseOthers(
      body,
      ['input_type', 'truncate', 'encoding_format', ...(versioned ? ['dimensions', 'output_dimension'] : [])],
      losses,
    )
    return defined({
      texts: inputsOf(body),
      input_type: body.input_type ?? 'search_query',
      truncate: body.truncate,
      output_dimension: versioned ? (body.output_dimension ?? body.dimensions) : undefined,
    })
  },
  reply(value, { body, model, headers }) {
    const found = isObject(value) ? floatsIn(value.embeddings) : undefined
    return replyOf(
      listOf(found).map(vector => vectorFor(body, vector)),
      model,
      tokensIn(headers),
    )
  },
}

const nova: PlainCodec = {
  errors,
  request(body, _asked, losses) {
    loseOthers(body, ['embedding_purpose', 'dimensions', 'truncation_mode', 'encoding_format'], losses)
    return {
      taskType: 'SINGLE_EMBEDDING',
      singleEmbeddingParams: defined({
        embeddingPurpose: body.embedding_purpose ?? 'GENERIC_INDEX',
        embeddingDimension: body.dimensions,
        text: { truncationMode: body.truncation_mode ?? 'END', value: onlyInput(body) },
      }),
    }
  },
  reply(value, { body, model, headers }) {
    const found = isObject(value) ? listOf(value.embeddings) : []
    return replyOf(
      found.map(each => vectorFor(body, isObject(each) ? each.embedding : each)),
      model,
      tokensIn(headers),
    )
  },
}

function replyOf(vectors: readonly unknown[], model: string, tokens: number | undefined): PlainReply {
  if (vectors.length === 0) throw new Untranslatable('', 'the provider sent no embedding')
  return {
    body: embeddingsReply(vectors, model, tokens),
    ...(tokens === undefined ? {} : { usage: { input: tokens, total: tokens } }),
  }
}

function tokensIn(headers: HeaderList): number | undefined {
  const text = headers.get('x-amzn-bedrock-input-token-count')
  return text === undefined || !/^\d{1,12}$/.test(text) ? undefined : Number(text)
}

/** By a substring of the model id; the first match wins, and the last matches all. */
export const EMBEDDING_FAMILIES = [
  { family: 'cohere', codec: cohere },
  { family: 'nova', codec: nova },
  { family: '', codec: titan },
] as const

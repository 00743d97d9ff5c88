import { isObject, type JsonObject, objectOf } from '../../chat/json.ts'
import { type Losses, Untranslatable } from '../../chat/losses.ts'

/** The texts to embed. */
export function inputsOf({ input }: JsonObject): readonly string[] {
  const texts = typeof input === 'string' ? [input] : input
  if (!Array.isArray(texts) || texts.length === 0) throw new Untranslatable('input', 'is required')
  for (const [i, text] of texts.entries()) {
    if (typeof text !== 'string') {
      throw new Untranslatable(Array.isArray(input) ? `input[${i}]` : 'input', 'the provider takes texts, not tokens')
    }
  }
  return texts
}

/** For models that embed one text per call. */
export function onlyInput(body: JsonObject): string {
  const [text, ...more] = inputsOf(body)
  if (more.length > 0) throw new Untranslatable('input', 'the model embeds one text a call: send one request for each')
  return text as string
}

/** Records as losses the client's fields that are neither common nor in `taken`. */
export function loseOthers(body: JsonObject, taken: readonly string[], losses: Losses): void {
  for (const name of Object.keys(body)) {
    if (name !== 'model' && name !== 'input' && !taken.includes(name)) losses.drop(name)
  }
}

/** The response in OpenAI's format. */
export function embeddingsReply(vectors: readonly unknown[], model: string, tokens: number | undefined): JsonObject {
  return {
    object: 'list',
    data: vectors.map((embedding, index) => ({ object: 'embedding', embedding, index })),
    model,
    usage: { prompt_tokens: tokens ?? 0, total_tokens: tokens ?? 0 },
  }
}

/** A vector in the requested encoding: numbers, or 32-bit floats as base64. */
export function vectorFor({ encoding_format }: JsonObject, vector: unknown): unknown {
  if (!Array.isArray(vector)) throw new Untranslatable('', 'the provider sent no embedding')
  if (encoding_format !== 'base64') return vector
  return Buffer.from(Float32Array.from(vector as number[]).buffer).toString('base64')
}

/** The floats of `{float: …, int8: …}`. */
export function floatsIn(value: unknown): unknown {
  return isObject(value) ? objectOf(value).float : value
}

import { countOf, isObject } from '../../chat/json.ts'
import { Untranslatable } from '../../chat/losses.ts'
import type { PlainCodec } from '../../chat/plain-conversion.ts'
import { decodeError } from '../converse/errors.ts'

/** Bedrock counts a whole invocation request, as base64 of its JSON. */
export const bedrockTokenCount: PlainCodec = {
  errors: { decode: decodeError },
  request({ model: _, stream: __, ...body }) {
    const invoked = { anthropic_version: 'bedrock-2023-05-31', max_tokens: 1, ...body }
    return { input: { invokeModel: { body: Buffer.from(JSON.stringify(invoked)).toString('base64') } } }
  },
  reply(value) {
    const tokens = isObject(value) ? countOf(value.inputTokens) : undefined
    if (tokens === undefined) throw new Untranslatable('', 'the provider sent no count of tokens')
    return { body: { input_tokens: tokens }, usage: { counted: tokens } }
  },
}

import { GatewayError } from '../../http/errors.ts'
import type { LlmFacts } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import type { ResponseHandler } from '../../http/transport.ts'
import type { ErrorCodec } from '../../llm/chat/codec.ts'
import type { JsonObject } from '../../llm/chat/json.ts'
import { Untranslatable } from '../../llm/chat/losses.ts'
import type { Format } from '../../llm/formats/format.ts'
import type { JsonBody } from '../../llm/json-body.ts'
import { estimateTokens } from '../../llm/tokens/estimate.ts'
import { parseExact } from '../../mcp/exact-json.ts'
import { errorInDialect } from './reply-context.ts'

/** Counts tokens locally for a provider without such a call. */
export async function countHere(
  counted: NonNullable<Format['counted']>,
  errors: ErrorCodec,
  body: JsonBody,
  facts: LlmFacts,
  on: ResponseHandler,
): Promise<void> {
  try {
    const conversation = counted.conversation(parseExact(body.bytes().toString('utf8')) as JsonObject)
    const tokens = await estimateTokens(conversation, facts.requestModel)
    facts.countTokens = tokens
    const bytes = Buffer.from(JSON.stringify(counted.reply(tokens)))
    const headers = new HeaderList()
    headers.set('content-type', 'application/json')
    headers.set('content-length', String(bytes.length))
    const client = on.head(200, headers)
    client.write(bytes)
    client.end()
  } catch (error) {
    if (!(error instanceof Untranslatable)) throw error
    on.fail(errorInDialect(errors, new GatewayError('llmRequest', { detail: error.message })))
  }
}

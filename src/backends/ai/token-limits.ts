import type { Exchange, LlmFacts } from '../../http/exchange.ts'
import type { ResponseHandler } from '../../http/transport.ts'
import type { JsonObject } from '../../llm/chat/json.ts'
import { Untranslatable } from '../../llm/chat/losses.ts'
import { CODECS } from '../../llm/formats/codecs.ts'
import type { Format } from '../../llm/formats/format.ts'
import { isChatFormat } from '../../llm/formats/target-format.ts'
import type { JsonBody } from '../../llm/json-body.ts'
import { estimateText, estimateTokens } from '../../llm/tokens/estimate.ts'
import { parseExact } from '../../mcp/exact-json.ts'
import type { ProviderTarget } from './provider-target.ts'
import { errorInDialect } from './reply-context.ts'

interface LimitedCall {
  readonly to: ProviderTarget
  readonly x: Exchange
  /** The exchange whose limits apply. */
  readonly client: Exchange
}

/**
 * Makes a call after charging the limits for its input tokens, if the provider's tokens are counted before the call
 * (spec "Rate limiting", `tokenize`).
 */
export function withinLimits(
  { to, x, client }: LimitedCall,
  format: Format,
  body: JsonBody,
  on: ResponseHandler,
  send: () => void,
): void {
  const limits = to.tokenize && format.counted === undefined ? client.tokenLimits : undefined
  if (limits === undefined) {
    send()
    return
  }
  const take = async (): Promise<void> => {
    const tokens = await inputTokens(format, body, (x.llm as LlmFacts).requestModel)
    // An earlier provider may have been charged already.
    const more = tokens - client.tokensTaken
    if (more <= 0) return
    for (const limit of limits) await limit.take(more)
    client.tokensTaken = tokens
  }
  take()
    .then(send)
    .catch(error => on.fail(errorInDialect(format.errors, error as Error)))
}

function inputTokens({ name }: Format, body: JsonBody, model: string): Promise<number> {
  const text = body.bytes().toString('utf8')
  if (!isChatFormat(name)) return estimateText(text, model)
  try {
    return estimateTokens(CODECS[name].request.decode(parseExact(text) as JsonObject), model)
  } catch (error) {
    if (!(error instanceof Untranslatable)) throw error
    // Not a known body, but the provider may accept it.
    return estimateText(text, model)
  }
}

import type { Exchange, LlmFacts } from '../../http/exchange.ts'
import type { JsonObject } from '../../llm/chat/json.ts'
import { JsonBody } from '../../llm/json-body.ts'
import type { ProviderTarget } from './provider-target.ts'
import type { EditableBody } from './providers/provider.ts'

/** The outgoing body: the final expressions see and may change what the provider will get. */
export function editedLast(body: JsonBody, { policy, final }: ProviderTarget, x: Exchange): JsonBody {
  if (policy?.final === undefined && final === undefined) return body
  const last = JsonBody.parse(body.bytes()) as JsonBody
  ;(x.llm as LlmFacts).request = last.value
  policy?.final?.(last, x)
  final?.(last, x)
  return last
}

/** The same for a converted body. */
export function editConvertedLast(
  sent: JsonObject,
  edited: EditableBody,
  { policy, final }: ProviderTarget,
  x: Exchange,
): void {
  if (policy?.final === undefined && final === undefined) return
  ;(x.llm as LlmFacts).request = sent
  policy?.final?.(edited, x)
  final?.(edited, x)
}

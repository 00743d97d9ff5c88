import type { Exchange } from '../../http/exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import type { ReplyFacts } from '../../llm/chat/codec.ts'
import type { Conversion } from '../../llm/chat/conversion.ts'
import type { JsonObject } from '../../llm/chat/json.ts'
import type { PlainConversion } from '../../llm/chat/plain-conversion.ts'
import { addCachePoints } from '../../llm/formats/converse/cache-points.ts'
import type { Format } from '../../llm/formats/format.ts'
import type { WireFormat } from '../../llm/formats/target-format.ts'
import type { JsonBody } from '../../llm/json-body.ts'
import { parseExact } from '../../mcp/exact-json.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { editConvertedLast } from './last-edits.ts'
import type { ProviderTarget } from './provider-target.ts'
import type { WireFamily } from './providers/provider.ts'

interface Converting {
  readonly body: JsonBody
  readonly format: Format
  readonly target: WireFormat
  readonly conversion: Conversion | PlainConversion
  readonly family: WireFamily
  readonly model: string
  readonly stream: boolean
  readonly headers: HeaderList
}

/** The body in the provider's format. Throws `Untranslatable`. */
export function convertedBody(to: ProviderTarget, x: Exchange, about: Converting): JsonObject {
  const { body, format, target, conversion, family, model, stream, headers } = about
  const given = parseExact(body.bytes().toString('utf8')) as JsonObject
  const sent = conversion.request(format.name === 'responses' ? to.items.resolve(given) : given, {
    model,
    stream,
    takesThoughts: to.wire.takesThoughts === true,
  })
  renameMaxTokens(sent, target, model, to)
  const edited = {
    get: (name: string) => sent[name],
    set: (name: string, value: unknown) => setMember(sent, name, value),
  }
  // Clients of the messages format set their own cache points.
  if (to.caching && target === 'converse' && format.name !== 'messages') addCachePoints(sent, model, to.caching)
  family.edit?.(edited, { format: target, model, stream, headers })
  editConvertedLast(sent, edited, to, x)
  return sent
}

function setMember(body: JsonObject, name: string, value: unknown): void {
  if (value === undefined) delete body[name]
  else body[name] = value
}

function renameMaxTokens(sent: JsonObject, target: WireFormat, model: string, { wire }: ProviderTarget): void {
  // OpenAI-compatible servers know only the older name.
  if (target !== 'completions' || wire.maxCompletionTokens?.test(model) || sent.max_completion_tokens === undefined)
    return
  sent.max_tokens = sent.max_completion_tokens
  delete sent.max_completion_tokens
}

/** As clients know ids from the format's own provider. */
const ID_PREFIXES: Readonly<Record<string, string>> = { completions: 'chatcmpl-', messages: 'msg_', responses: 'resp_' }

/** What the response states about itself where the provider does not, and where conversation items are remembered. */
export function replyFacts(
  runtime: Runtime,
  { items }: ProviderTarget,
  model: string,
  format: Format,
  body: JsonBody,
): ReplyFacts {
  const facts = {
    id: `${ID_PREFIXES[format.name] ?? ''}${runtime.uuid().replaceAll('-', '')}`,
    model,
    created: Math.floor(runtime.clock.now() / 1000),
    usage: wantsUsage(format, body),
  }
  if (format.name !== 'responses') return facts
  return body.get('store') === false ? facts : { ...facts, keep: item => items.keep(item) }
}

/** As in OpenAI's API, the final usage chunk is sent only on request. */
function wantsUsage(format: Format, body: JsonBody): boolean {
  if (format.name !== 'completions') return true
  const options = body.get('stream_options')
  return typeof options === 'object' && options !== null && (options as JsonObject).include_usage === true
}

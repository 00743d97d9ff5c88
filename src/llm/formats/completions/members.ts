import { isObject, type JsonObject } from '../../chat/json.ts'
import { byType, type Member, type Members, whole } from '../../chat/members.ts'

const CACHE = whole('type', 'ttl')
const CACHED = { cache_control: CACHE, prompt_cache_breakpoint: true } as const

const PART = byType({
  text: { ...whole('type', 'text'), ...CACHED },
  image_url: {
    type: true,
    image_url: whole('url', 'detail', 'format', 'mime_type', 'content_type'),
    ...CACHED,
  },
  input_audio: { type: true, input_audio: whole('data', 'format') },
  file: { type: true, file: whole('filename', 'file_id', 'file_data'), ...CACHED },
  refusal: whole('type', 'refusal'),
})

const CALL = {
  ...whole('id', 'type', 'index'),
  function: whole('name', 'arguments'),
  custom: whole('name', 'input'),
  cache_control: CACHE,
  // Where Google's compatible endpoint has the signature.
  extra_content: { google: whole('thought_signature') },
} as const satisfies Members

const SAID = whole(
  'role',
  'refusal',
  'function_call',
  'audio',
  'annotations',
  'reasoning',
  'reasoning_content',
  'reasoning_signature',
  'thinking_blocks',
)

export const REQUEST: Members = {
  messages: { ...SAID, ...whole('name', 'tool_call_id'), content: PART, tool_calls: CALL, cache_control: CACHE },
  tools: byType({
    function: {
      type: true,
      function: whole('name', 'description', 'parameters', 'strict'),
      cache_control: CACHE,
    },
    custom: { type: true, custom: whole('name', 'description', 'format') },
  }),
  tool_choice: byType({
    function: { type: true, function: whole('name') },
    custom: { type: true, custom: whole('name') },
    allowed_tools: {
      type: true,
      allowed_tools: { mode: true, tools: { type: true, function: whole('name'), custom: whole('name') } },
    },
  }),
  functions: whole('name', 'description', 'parameters'),
  function_call: whole('name'),
  response_format: byType({
    text: whole('type'),
    json_object: whole('type'),
    json_schema: { type: true, json_schema: whole('name', 'description', 'schema', 'strict') },
  }),
}

/** Other kinds are named as a whole. */
const PIECE = byType({ text: whole('type', 'text'), thinking: whole('type', 'thinking') })

/** Azure's filters say something only when they have found something. */
const FILTERS: Member = results =>
  Object.fromEntries(Object.keys(results).map(name => [name, (found: JsonObject) => (hit(found) ? {} : undefined)]))

function hit({ filtered, detected }: JsonObject): boolean {
  return filtered === true || detected === true
}

export const REPLY: Members = {
  ...whole('id', 'object', 'created', 'model', 'service_tier', 'system_fingerprint', 'usage', 'obfuscation'),
  choices: {
    ...whole('index', 'finish_reason', 'logprobs'),
    message: { ...SAID, content: PIECE, tool_calls: CALL },
    delta: { ...SAID, content: PIECE, tool_calls: CALL },
    content_filter_results: FILTERS,
  },
  prompt_filter_results: { prompt_index: true, content_filter_results: FILTERS },
}

/** The signature of a call, as Google's compatible endpoint has it. */
export function googleSignature(call: JsonObject): { signature?: string } {
  const google = isObject(call.extra_content) ? call.extra_content.google : undefined
  const signature = isObject(google) ? google.thought_signature : undefined
  return typeof signature === 'string' ? { signature } : {}
}

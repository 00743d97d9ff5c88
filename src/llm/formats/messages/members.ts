import { byType, type Members, whole } from '../../chat/members.ts'

const CACHE = whole('type', 'ttl')

/** Those of the other formats' kinds; the rest are passed on as they are. */
const BLOCKS: Record<string, Members> = {
  text: { ...whole('type', 'text', 'citations'), cache_control: CACHE },
  image: { ...whole('type', 'source'), cache_control: CACHE },
  document: { ...whole('type', 'source', 'title', 'context'), citations: whole('enabled'), cache_control: CACHE },
  tool_use: { ...whole('type', 'id', 'name', 'input', 'caller'), cache_control: CACHE },
  thinking: whole('type', 'thinking', 'signature'),
  redacted_thinking: whole('type', 'data'),
}
const BLOCK = byType(BLOCKS)
BLOCKS.tool_result = { ...whole('type', 'tool_use_id', 'is_error'), content: BLOCK, cache_control: CACHE }

export const REQUEST: Members = {
  system: BLOCK,
  messages: { role: true, content: BLOCK },
  tools: ({ type = 'custom' }) =>
    type === 'custom'
      ? { ...whole('type', 'name', 'description', 'input_schema', 'strict'), cache_control: CACHE }
      : undefined,
  tool_choice: whole('type', 'name', 'disable_parallel_tool_use'),
  thinking: whole('type', 'budget_tokens', 'display'),
  output_config: { effort: true, format: whole('type', 'schema') },
  output_format: whole('type', 'schema'),
}

export const REPLY: Members = {
  ...whole('id', 'type', 'role', 'model', 'stop_reason', 'stop_sequence', 'usage'),
  content: BLOCK,
}

/** Of the events of a stream. */
export const EVENT: Members = {
  ...whole('type', 'index', 'usage', 'error', 'request_id'),
  message: REPLY,
  content_block: BLOCK,
  delta: whole('type', 'text', 'thinking', 'partial_json', 'signature', 'citation', 'stop_reason', 'stop_sequence'),
}

import { labelOf } from '../../chat/json.ts'
import { byType, type Members, whole } from '../../chat/members.ts'

const PART = byType({
  input_text: whole('type', 'text', 'prompt_cache_breakpoint'),
  output_text: whole('type', 'text', 'annotations', 'logprobs', 'prompt_cache_breakpoint'),
  text: whole('type', 'text', 'annotations', 'prompt_cache_breakpoint'),
  input_image: whole('type', 'file_id', 'image_url', 'detail', 'prompt_cache_breakpoint'),
  input_file: whole('type', 'file_id', 'file_url', 'file_data', 'filename', 'prompt_cache_breakpoint'),
  input_audio: { type: true, input_audio: whole('data', 'format') },
  refusal: whole('type', 'refusal'),
})

const MESSAGE: Members = { ...whole('type', 'id', 'status', 'role'), content: PART }
const ITEMS: Readonly<Record<string, Members>> = {
  message: MESSAGE,
  function_call: whole('type', 'id', 'status', 'call_id', 'name', 'arguments'),
  custom_tool_call: whole('type', 'id', 'status', 'call_id', 'name', 'input'),
  function_call_output: { ...whole('type', 'id', 'status', 'call_id'), output: PART },
  custom_tool_call_output: { ...whole('type', 'id', 'status', 'call_id'), output: PART },
  reasoning: {
    ...whole('type', 'id', 'status', 'encrypted_content'),
    summary: whole('type', 'text'),
    content: whole('type', 'text'),
  },
}

export const REQUEST: Members = {
  input: ({ type = 'message' }) => ITEMS[labelOf(type)],
  tools: byType({
    function: whole('type', 'name', 'description', 'parameters', 'strict'),
    custom: whole('type', 'name', 'description', 'format'),
  }),
  tool_choice: byType({
    function: whole('type', 'name'),
    custom: whole('type', 'name'),
    allowed_tools: { ...whole('type', 'mode'), tools: whole('type', 'name') },
  }),
  reasoning: whole('effort', 'summary'),
  text: { verbosity: true, format: whole('type', 'name', 'description', 'schema', 'strict') },
}

/** Most of a response repeats the request. */
export const REPLY: Members = {
  ...whole('id', 'object', 'created_at', 'completed_at', 'status', 'error', 'incomplete_details', 'model', 'usage'),
  ...whole('instructions', 'max_output_tokens', 'parallel_tool_calls', 'previous_response_id', 'reasoning', 'store'),
  ...whole('temperature', 'text', 'tool_choice', 'tools', 'top_p', 'truncation', 'user', 'metadata', 'background'),
  ...whole('max_tool_calls', 'top_logprobs', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention'),
  ...whole('frequency_penalty', 'presence_penalty', 'service_tier', 'billing', 'output_text'),
  output: byType(ITEMS),
}

/** Events that tell nothing beyond what others do. */
export const SILENT =
  /^(?:keepalive|response\.(?:queued|content_part\.\w+|reasoning_summary_part\.\w+|(?:function_call_arguments|custom_tool_call_input)\.done|mcp_list_tools\.\w+|\w+_call(?:_\w+)?\.\w+))$/

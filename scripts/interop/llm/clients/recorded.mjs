import { PARAMETERS, PICTURE, PROMPTS, TOOL } from '../tasks.mjs'

/** Requests in the shape in which coding agents send them, with a history of every kind of part. */
export async function recorded() {
  return {
    'Claude Code’s requests': (url, model) => ({
      stream: async () => {
        const headers = { 'x-api-key': 'of-the-client', 'anthropic-version': '2023-06-01', 'anthropic-beta': BETAS }
        const events = await eventsOf(`${url}/v1/messages?beta=true`, claudeCode(model), headers)
        if (events.at(-1).type !== 'message_stop') throw new Error(`ends with ${JSON.stringify(events.at(-1))}`)
        return events.map(({ delta }) => (delta?.type === 'text_delta' ? delta.text : '')).join('')
      },
    }),
    'Codex’s requests': (url, model) => ({
      stream: async () => {
        const headers = { authorization: 'Bearer of-the-client', originator: 'codex_cli_rs', session_id: 'a-session' }
        const events = await eventsOf(`${url}/v1/responses`, codex(model), headers)
        if (events.at(-1).type !== 'response.completed') throw new Error(`ends with ${JSON.stringify(events.at(-1))}`)
        return events.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('')
      },
    }),
  }
}

const BETAS = 'claude-code-20250219,interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14'
const CACHED = { cache_control: { type: 'ephemeral' } }

function claudeCode(model) {
  const text = (text, more) => ({ type: 'text', text, ...more })
  return {
    model,
    max_tokens: 32_000,
    stream: true,
    system: [text('You are Claude Code.', CACHED), text('Answer concisely.', CACHED)],
    metadata: { user_id: 'user_0_account__session_1' },
    thinking: { type: 'enabled', budget_tokens: 10_000 },
    tools: [
      { name: 'Bash', description: 'Runs a command.', input_schema: { ...PARAMETERS, $schema: DRAFT } },
      { ...TOOL, input_schema: PARAMETERS, ...CACHED },
    ],
    messages: [
      { role: 'user', content: [text('<system-reminder>\nToday.\n</system-reminder>'), text('List the files.')] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'I should list them.', signature: 'c2lnbmF0dXJl' },
          text('I will look.'),
          { type: 'tool_use', id: 'toolu_01', name: 'Bash', input: { city: 'ls' } },
          { type: 'tool_use', id: 'toolu_02', name: 'Bash', input: { city: 'cat x' } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_01',
            content: [
              text('a.txt'),
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } },
            ],
          },
          { type: 'tool_result', tool_use_id: 'toolu_02', content: 'cat: x: No such file', is_error: true },
          text(PROMPTS.chat, CACHED),
        ],
      },
    ],
  }
}

const DRAFT = 'http://json-schema.org/draft-07/schema#'

function codex(model) {
  const said = (role, type, text) => ({ type: 'message', role, content: [{ type, text }] })
  return {
    model,
    instructions: 'You are Codex.',
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'a-session',
    parallel_tool_calls: true,
    reasoning: { effort: 'medium', summary: 'auto' },
    text: { verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [
      { type: 'function', name: 'shell', description: 'Runs a command.', strict: false, parameters: PARAMETERS },
      {
        type: 'custom',
        name: 'apply_patch',
        description: 'Edits files.',
        format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
      },
    ],
    input: [
      said('developer', 'input_text', '<permissions>read-only</permissions>'),
      said('user', 'input_text', '<environment_context/>'),
      said('user', 'input_text', 'List the files.'),
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Look.' }], encrypted_content: 'gAAA' },
      { type: 'function_call', call_id: 'call_1', name: 'shell', arguments: '{"city":"ls"}' },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'apply_patch', input: '*** Begin Patch' },
      { type: 'function_call_output', call_id: 'call_1', output: 'a.txt' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: 'Done' },
      said('assistant', 'output_text', 'There is one.'),
      said('user', 'input_text', PROMPTS.chat),
    ],
  }
}

async function eventsOf(url, body, headers) {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
    body: JSON.stringify(body),
  })
  const text = await reply.text()
  if (reply.status !== 200) throw new Error(`${reply.status} ${text}`)
  return text
    .split('\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => JSON.parse(line.slice(6)))
}

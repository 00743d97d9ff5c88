import { PARAMETERS, PERSON_SCHEMA, PICTURE, PROMPTS, SYSTEM, TOOL, weatherOf } from '../tasks.mjs'

/** `@anthropic-ai/sdk`. */
export async function anthropic(load) {
  const { default: Anthropic } = await load('@anthropic-ai/sdk')
  return {
    '@anthropic-ai/sdk': (url, model) =>
      messages(new Anthropic({ baseURL: url, apiKey: 'of-the-client', maxRetries: 0 }), model),
  }
}

function messages(client, model) {
  const ask = content => ({ model, max_tokens: 1000, system: SYSTEM, messages: [{ role: 'user', content }] })
  const textOf = ({ content }) =>
    content
      .filter(({ type }) => type === 'text')
      .map(({ text }) => text)
      .join('')
  const tools = [{ ...TOOL, input_schema: PARAMETERS, cache_control: { type: 'ephemeral' } }]
  const round = async once => {
    const request = { ...ask(PROMPTS.tools), tools, tool_choice: { type: 'auto', disable_parallel_tool_use: false } }
    const reply = await once(request)
    if (reply.stop_reason !== 'tool_use') throw new Error(`stopped by ${reply.stop_reason}`)
    const calls = reply.content.filter(({ type }) => type === 'tool_use')
    const results = weatherOf(calls.map(({ name, input }) => ({ name, args: input }))).map((content, i) => ({
      type: 'tool_result',
      tool_use_id: calls[i].id,
      content,
    }))
    const turns = [
      { role: 'assistant', content: reply.content },
      { role: 'user', content: results },
    ]
    return textOf(await once({ ...request, messages: [...request.messages, ...turns] }))
  }
  return {
    chat: async () => {
      const settings = { temperature: 0.5, stop_sequences: ['END'], metadata: { user_id: 'ann' } }
      const reply = await client.messages.create({ ...ask(PROMPTS.chat), ...settings })
      const { input_tokens, output_tokens } = reply.usage
      if (input_tokens !== 7 || output_tokens !== 3) throw new Error(`usage ${JSON.stringify(reply.usage)}`)
      return textOf(reply)
    },
    stream: async () => {
      const reply = await client.messages.stream(ask(PROMPTS.chat)).finalMessage()
      if (reply.usage.output_tokens !== 3) throw new Error(`usage ${JSON.stringify(reply.usage)}`)
      return textOf(reply)
    },
    tools: () => round(request => client.messages.create(request)),
    'tools, streamed': () => round(request => client.messages.stream(request).finalMessage()),
    JSON: async () => {
      const output_config = { format: { type: 'json_schema', schema: PERSON_SCHEMA } }
      const reply = await client.messages.create({ ...ask(PROMPTS.json), output_config })
      return JSON.stringify(JSON.parse(textOf(reply)))
    },
    picture: async () =>
      textOf(
        await client.messages.create(
          ask([
            { type: 'text', text: PROMPTS.picture },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } },
          ]),
        ),
      ),
    'an error': () => client.messages.create(ask(PROMPTS.error)).catch(error => String(error.status)),
  }
}

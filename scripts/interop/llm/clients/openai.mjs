import { PARAMETERS, PERSON_SCHEMA, PICTURE, PROMPTS, SYSTEM, TOOL, weatherOf } from '../tasks.mjs'

/** The `openai` package, with both of its APIs. */
export async function openai(load) {
  const { default: OpenAI } = await load('openai')
  const connect = url => new OpenAI({ baseURL: `${url}/v1`, apiKey: 'of-the-client', maxRetries: 0 })
  return {
    'openai, completions': (url, model) => completions(connect(url), model),
    'openai, responses': (url, model) => responses(connect(url), model),
  }
}

function completions(client, model) {
  const ask = content => ({
    model,
    messages: [
      { role: 'system', content: SYSTEM },
      { role: 'user', content },
    ],
  })
  const text = async request => (await client.chat.completions.create(request)).choices[0].message.content
  const format = { type: 'json_schema', json_schema: { name: 'person', strict: true, schema: PERSON_SCHEMA } }
  const tools = [{ type: 'function', function: { ...TOOL, parameters: PARAMETERS, strict: true } }]
  const round = async once => {
    const request = { ...ask(PROMPTS.tools), tools, tool_choice: 'auto', parallel_tool_calls: true }
    const { message, finish_reason } = (await once(request)).choices[0]
    if (finish_reason !== 'tool_calls') throw new Error(`finished by ${finish_reason}`)
    const calls = message.tool_calls.map(call => ({
      name: call.function.name,
      args: JSON.parse(call.function.arguments),
    }))
    const results = weatherOf(calls).map((content, i) => ({
      role: 'tool',
      tool_call_id: message.tool_calls[i].id,
      content,
    }))
    return (await once({ ...request, messages: [...request.messages, message, ...results] })).choices[0].message.content
  }
  return {
    chat: () => text({ ...ask(PROMPTS.chat), temperature: 0.5, max_tokens: 100, stop: ['END'], user: 'ann' }),
    stream: () => streamed(client, ask(PROMPTS.chat)),
    tools: () => round(request => client.chat.completions.create(request)),
    'tools, streamed': () => round(request => client.chat.completions.stream(request).finalChatCompletion()),
    JSON: async () => {
      const reply = await client.chat.completions.parse({ ...ask(PROMPTS.json), response_format: format })
      return JSON.stringify(JSON.parse(reply.choices[0].message.content))
    },
    picture: () =>
      text(
        ask([
          { type: 'text', text: PROMPTS.picture },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } },
        ]),
      ),
    'an error': () => text(ask(PROMPTS.error)).catch(error => String(error.status)),
    embeddings: async () => {
      const reply = await client.embeddings.create({ model: `${model}-embedding`, input: 'hello' })
      return JSON.stringify([...reply.data[0].embedding])
    },
  }
}

async function streamed(client, request) {
  const options = { stream: true, stream_options: { include_usage: true } }
  let said = ''
  let usage
  for await (const chunk of await client.chat.completions.create({ ...request, ...options })) {
    said += chunk.choices[0]?.delta.content ?? ''
    usage = chunk.usage ?? usage
  }
  if (usage?.total_tokens !== 10) throw new Error(`usage ${JSON.stringify(usage)}`)
  return said
}

function responses(client, model) {
  const ask = content => ({ model, instructions: SYSTEM, input: [{ role: 'user', content }], store: false })
  const text = async request => (await client.responses.create(request)).output_text
  const format = { type: 'json_schema', name: 'person', strict: true, schema: PERSON_SCHEMA }
  const tools = [{ type: 'function', ...TOOL, parameters: PARAMETERS, strict: true }]
  const round = async once => {
    const request = { ...ask(PROMPTS.tools), tools }
    const { output } = await once(request)
    const calls = output.filter(({ type }) => type === 'function_call')
    const said = weatherOf(calls.map(call => ({ name: call.name, args: JSON.parse(call.arguments) })))
    const results = said.map((text, i) => ({
      type: 'function_call_output',
      call_id: calls[i].call_id,
      output: text,
    }))
    return (await once({ ...request, input: [...request.input, ...output, ...results] })).output_text
  }
  return {
    chat: () => text({ ...ask(PROMPTS.chat), max_output_tokens: 100, temperature: 0.5 }),
    stream: async () => {
      let said = ''
      let completed
      for await (const event of await client.responses.create({ ...ask(PROMPTS.chat), stream: true })) {
        if (event.type === 'response.output_text.delta') said += event.delta
        if (event.type === 'response.completed') completed = event.response
      }
      if (completed?.output[0].content[0].text !== said) throw new Error('the completed response says something else')
      if (completed.usage.total_tokens !== 10) throw new Error(`usage ${JSON.stringify(completed.usage)}`)
      return said
    },
    tools: () => round(request => client.responses.create(request)),
    'tools, streamed': () => round(request => client.responses.stream(request).finalResponse()),
    JSON: async () => {
      const reply = await client.responses.parse({ ...ask(PROMPTS.json), text: { format } })
      return JSON.stringify(JSON.parse(reply.output_text))
    },
    picture: () =>
      text(
        ask([
          { type: 'input_text', text: PROMPTS.picture },
          { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${PICTURE}` },
        ]),
      ),
    'an error': () => text(ask(PROMPTS.error)).catch(error => String(error.status)),
  }
}

import { PARAMETERS, PERSON_SCHEMA, PICTURE, PROMPTS, SYSTEM, TOOL, weatherOf } from '../tasks.mjs'

/** LangChain.js with its packages for OpenAI, Anthropic and Google. */
export async function langchain(load) {
  const messages = await load('@langchain/core/messages')
  const [{ ChatOpenAI, OpenAIEmbeddings }, { ChatAnthropic }, { ChatGoogleGenerativeAI }] = await Promise.all(
    ['@langchain/openai', '@langchain/anthropic', '@langchain/google-genai'].map(load),
  )
  const apiKey = 'of-the-client'
  return {
    'LangChain, OpenAI': (url, model) => {
      const configuration = { baseURL: `${url}/v1` }
      const embeddings = new OpenAIEmbeddings({ model: `${model}-embedding`, apiKey, configuration, maxRetries: 0 })
      return features(messages, new ChatOpenAI({ model, apiKey, configuration, maxRetries: 0 }), embeddings)
    },
    'LangChain, Anthropic': (url, model) =>
      features(messages, new ChatAnthropic({ model, apiKey, anthropicApiUrl: url, maxRetries: 0, maxTokens: 1000 })),
    // This client knows by the name of a model whether it sees pictures.
    'LangChain, Google': (url, model) =>
      features(
        messages,
        new ChatGoogleGenerativeAI({ model: `gemini-2.0-${model}`, apiKey, baseUrl: url, maxRetries: 0 }),
      ),
  }
}

function features({ SystemMessage, HumanMessage, ToolMessage }, model, embeddings) {
  const ask = content => [new SystemMessage(SYSTEM), new HumanMessage({ content })]
  const tools = [{ type: 'function', function: { ...TOOL, parameters: PARAMETERS } }]
  const joined = async stream => {
    let whole
    for await (const chunk of stream) whole = whole === undefined ? chunk : whole.concat(chunk)
    return whole
  }
  const round = async once => {
    const asked = ask(PROMPTS.tools)
    const reply = await once(asked)
    const results = weatherOf(reply.tool_calls).map(
      (content, i) =>
        new ToolMessage({ content, tool_call_id: reply.tool_calls[i].id, name: reply.tool_calls[i].name }),
    )
    return (await once([...asked, reply, ...results])).text
  }
  return {
    chat: async () => (await model.invoke(ask(PROMPTS.chat))).text,
    stream: async () => {
      const whole = await joined(await model.stream(ask(PROMPTS.chat)))
      if (!whole.usage_metadata?.output_tokens) throw new Error(`usage ${JSON.stringify(whole.usage_metadata)}`)
      return whole.text
    },
    tools: () => round(asked => model.bindTools(tools).invoke(asked)),
    'tools, streamed': () => round(async asked => joined(await model.bindTools(tools).stream(asked))),
    JSON: async () => {
      const answer = await model.withStructuredOutput(PERSON_SCHEMA, { name: 'person' }).invoke(ask(PROMPTS.json))
      return JSON.stringify(answer)
    },
    picture: async () => {
      const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } }
      return (await model.invoke(ask([{ type: 'text', text: PROMPTS.picture }, image]))).text
    },
    'an error': () =>
      model
        .invoke(ask(PROMPTS.error))
        .catch(error => String(error.status ?? /\[(\d{3}) /.exec(error.message)?.[1] ?? error)),
    ...(embeddings && { embeddings: async () => JSON.stringify(await embeddings.embedQuery('hello')) }),
  }
}

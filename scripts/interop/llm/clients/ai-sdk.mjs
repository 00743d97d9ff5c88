import { PARAMETERS, PERSON_SCHEMA, PICTURE, PROMPTS, SYSTEM, TOOL, WEATHER } from '../tasks.mjs'

/** The Vercel AI SDK, which runs tools by itself, with three of its providers. */
export async function aiSdk(load) {
  const ai = await load('ai')
  const [{ createOpenAI }, { createAnthropic }, { createGoogleGenerativeAI }] = await Promise.all(
    ['@ai-sdk/openai', '@ai-sdk/anthropic', '@ai-sdk/google'].map(load),
  )
  const apiKey = 'of-the-client'
  return {
    'ai, OpenAI completions': (url, name) => {
      const provider = createOpenAI({ baseURL: `${url}/v1`, apiKey })
      return features(ai, provider.chat(name), provider.textEmbeddingModel(`${name}-embedding`))
    },
    'ai, OpenAI responses': (url, name) => features(ai, createOpenAI({ baseURL: `${url}/v1`, apiKey }).responses(name)),
    'ai, Anthropic': (url, name) => features(ai, createAnthropic({ baseURL: `${url}/v1`, apiKey })(name)),
    'ai, Google': (url, name) => features(ai, createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey })(name)),
  }
}

function features(ai, model, embedding) {
  const { generateText, streamText, generateObject, tool, stepCountIs, jsonSchema, embed } = ai
  const ask = { model, system: SYSTEM, maxRetries: 0 }
  const weather = tool({
    description: TOOL.description,
    inputSchema: jsonSchema(PARAMETERS),
    execute: async ({ city }) => WEATHER[city],
  })
  const toolbox = { ...ask, prompt: PROMPTS.tools, tools: { [TOOL.name]: weather }, stopWhen: stepCountIs(3) }
  const streamed = async request => {
    let failure
    const result = streamText({
      ...request,
      onError: ({ error }) => {
        failure = error
      },
    })
    let said = ''
    for await (const text of result.textStream) said += text
    if (failure) throw failure
    return said
  }
  const content = [
    { type: 'text', text: PROMPTS.picture },
    { type: 'image', image: Buffer.from(PICTURE, 'base64'), mediaType: 'image/png' },
  ]
  return {
    chat: async () => (await generateText({ ...ask, prompt: PROMPTS.chat, temperature: 0.5 })).text,
    stream: () => streamed({ ...ask, prompt: PROMPTS.chat }),
    tools: async () => (await generateText(toolbox)).text,
    'tools, streamed': () => streamed(toolbox),
    JSON: async () => {
      const { object } = await generateObject({ ...ask, prompt: PROMPTS.json, schema: jsonSchema(PERSON_SCHEMA) })
      return JSON.stringify(object)
    },
    picture: async () => (await generateText({ ...ask, messages: [{ role: 'user', content }] })).text,
    'an error': () => generateText({ ...ask, prompt: PROMPTS.error }).catch(error => String(error.statusCode)),
    ...(embedding && {
      embeddings: async () => JSON.stringify((await embed({ model: embedding, value: 'hello' })).embedding),
    }),
  }
}

import { PARAMETERS, PERSON_SCHEMA, PICTURE, PROMPTS, SYSTEM, TOOL, weatherOf } from '../tasks.mjs'

/** `@google/genai`. */
export async function google(load) {
  const { GoogleGenAI } = await load('@google/genai')
  return {
    '@google/genai': (url, model) =>
      generateContent(new GoogleGenAI({ apiKey: 'of-the-client', httpOptions: { baseUrl: url } }), model),
  }
}

function generateContent({ models }, model) {
  const ask = (parts, config = {}) => ({
    model,
    contents: [{ role: 'user', parts: typeof parts === 'string' ? [{ text: parts }] : parts }],
    config: { systemInstruction: SYSTEM, ...config },
  })
  const text = async request => (await models.generateContent(request)).text
  const tools = [{ functionDeclarations: [{ ...TOOL, parametersJsonSchema: PARAMETERS }] }]
  const round = async once => {
    const request = ask(PROMPTS.tools, { tools })
    const content = await once(request)
    const calls = content.parts.filter(part => part.functionCall).map(part => part.functionCall)
    const said = weatherOf(calls)
    const results = calls.map(({ id, name }, i) => ({
      functionResponse: { ...(id && { id }), name, response: { output: said[i] } },
    }))
    const contents = [...request.contents, content, { role: 'user', parts: results }]
    const answer = await once({ ...request, contents })
    return answer.parts.map(({ text }) => text ?? '').join('')
  }
  return {
    chat: () => text(ask(PROMPTS.chat, { temperature: 0.5, maxOutputTokens: 100, stopSequences: ['END'] })),
    stream: async () => {
      let said = ''
      let usage
      for await (const chunk of await models.generateContentStream(ask(PROMPTS.chat))) {
        said += chunk.text ?? ''
        usage = chunk.usageMetadata ?? usage
      }
      if (usage?.totalTokenCount !== 10) throw new Error(`usage ${JSON.stringify(usage)}`)
      return said
    },
    tools: () => round(async request => (await models.generateContent(request)).candidates[0].content),
    'tools, streamed': () =>
      round(async request => {
        const parts = []
        for await (const chunk of await models.generateContentStream(request))
          parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
        return { role: 'model', parts }
      }),
    JSON: async () => {
      const config = { responseMimeType: 'application/json', responseJsonSchema: PERSON_SCHEMA }
      return JSON.stringify(JSON.parse(await text(ask(PROMPTS.json, config))))
    },
    picture: () => text(ask([{ text: PROMPTS.picture }, { inlineData: { mimeType: 'image/png', data: PICTURE } }])),
    'an error': () => text(ask(PROMPTS.error)).catch(error => String(error.status)),
  }
}

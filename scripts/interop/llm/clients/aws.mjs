import { PARAMETERS, PERSON_SCHEMA, PICTURE, PROMPTS, SYSTEM, TOOL, weatherOf } from '../tasks.mjs'

/** `@aws-sdk/client-bedrock-runtime`. */
export async function aws(load) {
  const sdk = await load('@aws-sdk/client-bedrock-runtime')
  const credentials = { accessKeyId: 'of-the-client', secretAccessKey: 'of-the-client' }
  return {
    '@aws-sdk/client-bedrock-runtime': (url, model) =>
      runtime(
        sdk,
        new sdk.BedrockRuntimeClient({ endpoint: url, region: 'us-east-1', credentials, maxAttempts: 1 }),
        model,
      ),
  }
}

function runtime({ ConverseCommand, ConverseStreamCommand }, client, modelId) {
  const user = content => ({ role: 'user', content })
  const ask = (content, more = {}) => ({ modelId, system: [{ text: SYSTEM }], messages: [user(content)], ...more })
  const textOf = content => content.map(({ text = '' }) => text).join('')
  const whole = async request => {
    const { output, stopReason, usage } = await client.send(new ConverseCommand(request))
    return { content: output.message.content, stopReason, usage }
  }
  const streamed = async request => collected((await client.send(new ConverseStreamCommand(request))).stream)
  const counted = ({ content, usage }) => {
    if (usage.inputTokens !== 7 || usage.outputTokens !== 3) throw new Error(`usage ${JSON.stringify(usage)}`)
    return textOf(content)
  }
  const tool = { toolSpec: { ...TOOL, inputSchema: { json: PARAMETERS } } }
  const round = async once => {
    const request = ask([{ text: PROMPTS.tools }], { toolConfig: { tools: [tool], toolChoice: { auto: {} } } })
    const { content, stopReason } = await once(request)
    if (stopReason !== 'tool_use') throw new Error(`stopped by ${stopReason}`)
    const calls = content.flatMap(({ toolUse }) => toolUse ?? [])
    const results = weatherOf(calls.map(({ name, input }) => ({ name, args: input }))).map((text, i) => ({
      toolResult: { toolUseId: calls[i].toolUseId, content: [{ text }], status: 'success' },
    }))
    const messages = [...request.messages, { role: 'assistant', content }, user(results)]
    return textOf((await once({ ...request, messages })).content)
  }
  const schema = JSON.stringify(PERSON_SCHEMA)
  return {
    chat: async () => counted(await whole(ask([{ text: PROMPTS.chat }], { inferenceConfig: { maxTokens: 1000 } }))),
    stream: async () => counted(await streamed(ask([{ text: PROMPTS.chat }]))),
    tools: () => round(whole),
    'tools, streamed': () => round(streamed),
    JSON: async () => {
      const textFormat = { type: 'json_schema', structure: { jsonSchema: { schema, name: 'person' } } }
      return JSON.stringify(
        JSON.parse(textOf((await whole(ask([{ text: PROMPTS.json }], { outputConfig: { textFormat } }))).content)),
      )
    },
    picture: async () => {
      const image = { format: 'png', source: { bytes: Buffer.from(PICTURE, 'base64') } }
      return textOf((await whole(ask([{ text: PROMPTS.picture }, { image }]))).content)
    },
    'an error': () => whole(ask([{ text: PROMPTS.error }])).catch(({ $metadata }) => String($metadata.httpStatusCode)),
  }
}

/** A streamed reply as a whole one. */
async function collected(stream) {
  const blocks = []
  let stopReason
  let usage
  for await (const event of stream) {
    const { contentBlockStart: start, contentBlockDelta: delta } = event
    if (start?.start?.toolUse) blocks[start.contentBlockIndex] = { toolUse: { ...start.start.toolUse, input: '' } }
    if (delta?.delta.text !== undefined) {
      blocks[delta.contentBlockIndex] ??= { text: '' }
      blocks[delta.contentBlockIndex].text += delta.delta.text
    }
    if (delta?.delta.toolUse) blocks[delta.contentBlockIndex].toolUse.input += delta.delta.toolUse.input
    stopReason ??= event.messageStop?.stopReason
    usage ??= event.metadata?.usage
  }
  const content = blocks.filter(Boolean)
  for (const { toolUse } of content) if (toolUse) toolUse.input = JSON.parse(toolUse.input)
  return { content, stopReason, usage }
}

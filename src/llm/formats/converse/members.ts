import { type Member, type Members, whole } from '../../chat/members.ts'

const CACHE_POINT = whole('type', 'ttl')
const KINDS: Record<string, Member> = {
  text: true,
  image: whole('format', 'source'),
  document: { ...whole('format', 'name', 'source', 'context'), citations: whole('enabled') },
  toolUse: whole('toolUseId', 'name', 'input', 'type'),
  reasoningContent: { redactedContent: true, reasoningText: whole('text', 'signature') },
  citationsContent: { content: whole('text'), citations: true },
  guardContent: { text: whole('text') },
  cachePoint: CACHE_POINT,
  json: true,
}
/** Undefined for a kind that only Bedrock has: it is named as a whole. */
const BLOCK: Member = block => (Object.keys(KINDS).some(kind => block[kind] !== undefined) ? KINDS : undefined)
KINDS.toolResult = { ...whole('toolUseId', 'status', 'type'), content: BLOCK }

const TOOL: Members = {
  toolSpec: { ...whole('name', 'description', 'strict'), inputSchema: whole('json') },
  cachePoint: CACHE_POINT,
}

export const REQUEST: Members = {
  system: BLOCK,
  messages: { role: true, content: BLOCK },
  inferenceConfig: whole('maxTokens', 'temperature', 'topP', 'stopSequences'),
  toolConfig: {
    toolChoice: { auto: {}, any: {}, tool: whole('name') },
    // Those that run at Bedrock are named as a whole.
    tools: tool => (tool.toolSpec === undefined && tool.cachePoint === undefined ? undefined : TOOL),
  },
  outputConfig: {
    textFormat: { type: true, structure: { jsonSchema: whole('schema', 'name', 'description') } },
  },
  additionalModelRequestFields: {
    top_k: true,
    inferenceConfig: whole('topK'),
    thinking: whole('type', 'budget_tokens', 'display'),
    reasoning_config: whole('type', 'budget_tokens'),
    output_config: whole('effort'),
  },
}

export const REPLY: Members = {
  ...whole('stopReason', 'usage', 'metrics', 'performanceConfig', 'serviceTier'),
  output: { message: { role: true, content: BLOCK } },
}

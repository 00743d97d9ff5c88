import { isObject, type JsonObject } from '../../chat/json.ts'
import { type Member, type Members, whole } from '../../chat/members.ts'

const MEDIA = whole('mimeType', 'data', 'fileUri', 'displayName')
const KINDS: Members = {
  text: true,
  inlineData: MEDIA,
  fileData: MEDIA,
  functionCall: whole('id', 'name', 'args'),
  functionResponse: { ...whole('id', 'name', 'response'), parts: { inlineData: MEDIA, fileData: MEDIA } },
}
/** Undefined for a kind that only Gemini has: it is named as a whole. */
const PART: Member = part =>
  Object.keys(KINDS).some(kind => part[kind] !== undefined)
    ? { ...KINDS, ...whole('thought', 'thoughtSignature') }
    : undefined

export const REQUEST: Members = {
  contents: { role: true, parts: PART },
  systemInstruction: { role: true, parts: PART },
  tools: tool => ({
    // Those that run at Google are named one by one.
    ...whole(...Object.keys(tool)),
    functionDeclarations: whole('name', 'description', 'parameters', 'parametersJsonSchema'),
  }),
  toolConfig: { functionCallingConfig: whole('mode', 'allowedFunctionNames') },
  generationConfig: {
    ...whole('maxOutputTokens', 'temperature', 'topP', 'topK', 'seed', 'frequencyPenalty', 'presencePenalty'),
    ...whole('candidateCount', 'responseLogprobs', 'logprobs', 'stopSequences'),
    ...whole('responseMimeType', 'responseSchema', 'responseJsonSchema'),
    thinkingConfig: whole('thinkingLevel', 'thinkingBudget', 'includeThoughts'),
  },
}

/** Ratings say something only when they have blocked something. */
const RATINGS: Member = ({ blocked }) => (blocked === true ? {} : undefined)

export const REPLY: Members = {
  ...whole('usageMetadata', 'modelVersion', 'responseId', 'createTime'),
  candidates: {
    ...whole('index', 'finishReason', 'finishMessage', 'avgLogprobs', 'logprobsResult', 'tokenCount'),
    content: { role: true, parts: PART },
    safetyRatings: RATINGS,
  },
  promptFeedback: { blockReason: true, blockReasonMessage: true, safetyRatings: RATINGS },
}

/** What is below these has names of its own. */
const FREE = new Set(['args', 'response', 'labels', 'parametersJsonSchema', 'responseJsonSchema', 'default', 'example'])

/** Google takes every name with underscores, too. */
export function camelNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelNames)
  if (!isObject(value)) return value
  const out: JsonObject = {}
  for (const name in value) {
    const camel = name.replace(/(?<=[a-z])_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    const inner = value[name]
    if (camel === 'properties' && isObject(inner)) {
      out[camel] = Object.fromEntries(Object.entries(inner).map(([key, each]) => [key, camelNames(each)]))
    } else out[camel] = FREE.has(camel) ? inner : camelNames(inner)
  }
  return out
}

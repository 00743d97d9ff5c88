// https://ai.google.dev/api/generate-content, and the same on Vertex AI.
import { VECTOR } from '../tasks.mjs'
import { pieces } from './openai.mjs'

const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 }
const head = { usageMetadata, modelVersion: 'gemini', responseId: 'r1' }

export const google = [
  {
    path: /:predict$/,
    type: '{ instances: { content: string, task_type?: string, title?: string }[], parameters?: object }',
    error: message => ({ error: { code: 429, message, status: 'RESOURCE_EXHAUSTED' } }),
    reply: () => ({
      predictions: [{ embeddings: { values: VECTOR, statistics: { token_count: 1, truncated: false } } }],
    }),
  },
  {
    path: /:(?:streamG|g)enerateContent$/,
    type: 'GenerateContentRequest',
    error: message => ({ error: { code: 429, message, status: 'RESOURCE_EXHAUSTED' } }),
    streams: ({ url }) => url.includes(':streamGenerateContent'),
    wrong: ({ url }) => url.includes(':streamGenerateContent') && !url.includes('alt=sse') && 'alt=sse is missing',
    streamType: 'text/event-stream',
    reply: said => ({ candidates: [{ content: contentOf(partsOf(said)), finishReason: 'STOP', index: 0 }], ...head }),
    *stream({ text, calls }) {
      const parts = calls ? partsOf({ calls }) : [...pieces(text)].map(piece => ({ text: piece }))
      for (const [i, part] of parts.entries()) {
        const last = i === parts.length - 1 ? { finishReason: 'STOP' } : {}
        const candidates = [{ content: contentOf([part]), index: 0, ...last }]
        yield `data: ${JSON.stringify({ candidates, ...head })}\r\n\r\n`
      }
    },
  },
]

function contentOf(parts) {
  return { role: 'model', parts }
}

function partsOf({ text, calls }) {
  if (calls === undefined) return [{ text }]
  return calls.map(({ name, args }, i) => ({
    functionCall: { name, args },
    ...(i === 0 && { thoughtSignature: 'c2lnbmF0dXJl' }),
  }))
}

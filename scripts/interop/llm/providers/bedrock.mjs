// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, ConverseStream with its binary
// frames, and InvokeModel for the embeddings of Titan.
import { crc32 } from 'node:zlib'
import { VECTOR } from '../tasks.mjs'
import { pieces } from './openai.mjs'

const usage = { inputTokens: 7, outputTokens: 3, totalTokens: 10 }
const errorHeaders = { 'x-amzn-errortype': 'ThrottlingException' }
const error = message => ({ message })
const wrong = ({ headers: { authorization = '' } }) =>
  !authorization.startsWith('AWS4-HMAC-SHA256 ') && 'Missing Authentication Token'

export const bedrock = [
  {
    path: /^\/model\/[^/]+\/converse(?:-stream)?$/,
    type: 'ConverseRequest',
    wrong,
    error,
    errorHeaders,
    streams: ({ url }) => url.endsWith('/converse-stream'),
    streamType: 'application/vnd.amazon.eventstream',
    reply: said => ({
      output: { message: { role: 'assistant', content: blocksOf(said) } },
      stopReason: stopOf(said),
      usage,
      metrics: { latencyMs: 1 },
    }),
    *stream(said) {
      yield frame('messageStart', { role: 'assistant' })
      for (const [contentBlockIndex, { text, toolUse }] of blocksOf(said).entries()) {
        if (toolUse) {
          const { toolUseId, name } = toolUse
          yield frame('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name } } })
        }
        for (const piece of pieces(text ?? JSON.stringify(toolUse.input)))
          yield frame('contentBlockDelta', {
            contentBlockIndex,
            delta: toolUse ? { toolUse: { input: piece } } : { text: piece },
          })
        yield frame('contentBlockStop', { contentBlockIndex })
      }
      yield frame('messageStop', { stopReason: stopOf(said) })
      yield frame('metadata', { usage, metrics: { latencyMs: 1 } })
    },
  },
  {
    path: /^\/model\/[^/]*titan-embed[^/]*\/invoke$/,
    type: '{ inputText: string, dimensions?: number, normalize?: boolean, embeddingTypes?: string[] }',
    wrong,
    error,
    errorHeaders,
    reply: () => ({ embedding: VECTOR, embeddingsByType: { float: VECTOR }, inputTextTokenCount: 1 }),
  },
]

function blocksOf({ text, calls = [] }) {
  const used = calls.map(({ id, name, args }) => ({ toolUse: { toolUseId: id, name, input: args } }))
  return text === undefined ? used : [{ text }, ...used]
}

function stopOf({ calls }) {
  return calls ? 'tool_use' : 'end_turn'
}

function frame(name, value) {
  const fields = { ':event-type': name, ':content-type': 'application/json', ':message-type': 'event' }
  const headers = Buffer.concat(Object.entries(fields).map(([name, value]) => header(name, value)))
  const payload = Buffer.from(JSON.stringify(value))
  const whole = Buffer.alloc(16 + headers.length + payload.length)
  whole.writeUInt32BE(whole.length, 0)
  whole.writeUInt32BE(headers.length, 4)
  whole.writeUInt32BE(crc32(whole.subarray(0, 8)), 8)
  headers.copy(whole, 12)
  payload.copy(whole, 12 + headers.length)
  whole.writeUInt32BE(crc32(whole.subarray(0, -4)), whole.length - 4)
  return whole
}

function header(name, value) {
  const size = Buffer.alloc(2)
  size.writeUInt16BE(value.length)
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), size, Buffer.from(value)])
}

import type { ChatEvent, ChatFormat, ChatReply, ChatUsage, Part } from '../../llm/chat/chat.ts'
import { Losses } from '../../llm/chat/losses.ts'
import { CODECS } from '../../llm/formats/codecs.ts'
import { addressIn } from '../../llm/formats/generate-content/address.ts'
import { writeFrames } from '../../llm/framing/event-stream-frames.ts'
import { plainReply } from './stub-plain.ts'
import { jsonReply, type StubCall, type StubReply } from './stub-transport.ts'

/** A model's answer. */
export interface LlmStub {
  /** `Hello.` when unset, unless a tool is called. */
  readonly text?: string
  readonly reasoning?: string
  /** Tools that the model calls. */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments?: unknown }[]
  /** 10 when unset. */
  readonly inputTokens?: number
  /** 2 when unset. */
  readonly outputTokens?: number
  /** Ends a stream after this many events, complete or not. */
  readonly cutAfter?: number
}

interface Asked {
  readonly format: ChatFormat
  readonly model: string
  readonly stream: boolean
}

/** In the format of the request: by path, as in the public APIs; by default OpenAI's chat completions. */
export function modelReply(stub: LlmStub, { path, body }: StubCall): StubReply {
  const value = jsonIn(body)
  const at = path.split('?', 1)[0] as string
  const plain = plainReply(at, value, stub.inputTokens ?? 10)
  if (plain) return plain
  const asked = askedBy(at, value)
  const reply = replyOf(stub, asked.model)
  if (!asked.stream) return jsonReply(CODECS[asked.format].reply.encode(reply, new Losses()))
  const usage = (value.stream_options as { include_usage?: unknown } | undefined)?.include_usage === true
  return streamed(asked, reply, usage, stub.cutAfter)
}

function askedBy(at: string, value: Readonly<Record<string, unknown>>): Asked {
  const model = modelIn(value)
  const stream = value.stream === true
  const converse = /\/model\/([^/]+)\/(converse(?:-stream)?)$/.exec(at)
  if (converse) {
    const [, name = '', method] = converse
    return { format: 'converse', model: decodeURIComponent(name), stream: method === 'converse-stream' }
  }
  const address = addressIn(at)
  if (address) return { format: 'generateContent', ...address }
  if (at.endsWith('/messages')) return { format: 'messages', model, stream }
  if (/:(?:stream)?[rR]awPredict$/.test(at))
    return { format: 'messages', model, stream: at.endsWith(':streamRawPredict') }
  return { format: at.endsWith('/responses') ? 'responses' : 'completions', model, stream }
}

function modelIn({ model }: Readonly<Record<string, unknown>>): string {
  return typeof model === 'string' ? model : 'stub'
}

function jsonIn(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body.toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function replyOf(stub: LlmStub, model: string): ChatReply {
  const calls = stub.toolCalls ?? []
  const parts: Part[] = []
  if (stub.reasoning !== undefined) parts.push({ kind: 'reasoning', text: stub.reasoning, at: '' })
  const text = stub.text ?? (calls.length === 0 ? 'Hello.' : undefined)
  if (text !== undefined) parts.push({ kind: 'text', text, at: '' })
  for (const [i, { name, arguments: value }] of calls.entries()) {
    parts.push({ kind: 'toolCall', id: `call_stub_${i}`, name, arguments: JSON.stringify(value ?? {}), at: '' })
  }
  const usage: ChatUsage = { input: stub.inputTokens ?? 10, output: stub.outputTokens ?? 2 }
  const stop = calls.length > 0 ? 'toolCalls' : 'end'
  return { id: 'stub', model, created: 0, choices: [{ parts, stop }], usage }
}

function streamed({ format, model }: Asked, reply: ChatReply, usage: boolean, cutAfter: number | undefined): StubReply {
  const writer = CODECS[format].events.writer({ id: 'stub', model, created: 0, usage })
  const text = eventsOf(reply, model)
    .map(event => writer.write(event))
    .join('')
  const framed = format === 'converse'
  const events = text.split(framed ? '\n' : '\n\n').filter(event => event !== '')
  const sent = events.slice(0, cutAfter)
  return {
    status: 200,
    headers: [['content-type', framed ? 'application/vnd.amazon.eventstream' : 'text/event-stream']],
    body: framed ? writeFrames(sent.join('\n')) : sent.map(event => `${event}\n\n`).join(''),
  }
}

function eventsOf({ choices: [choice], usage = {} }: ChatReply, model: string): ChatEvent[] {
  const events: ChatEvent[] = [
    { type: 'start', id: 'stub', model },
    { type: 'usage', usage },
  ]
  for (const [part, each] of (choice?.parts ?? []).entries()) {
    if (each.kind === 'toolCall') {
      events.push({ type: 'open', part, choice: 0, kind: 'toolCall', id: each.id, name: each.name })
      events.push({ type: 'delta', part, text: each.arguments })
    } else if (each.kind === 'text' || each.kind === 'reasoning') {
      events.push({ type: 'open', part, choice: 0, kind: each.kind }, { type: 'delta', part, text: each.text })
    }
    events.push({ type: 'close', part })
  }
  events.push({ type: 'stop', choice: 0, reason: choice?.stop ?? 'end' }, { type: 'end' })
  return events
}

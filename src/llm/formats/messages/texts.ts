import { isObject, type JsonObject, labelOf, listOf, objectOf } from '../../chat/json.ts'
import type { EventTexts, FormatTexts } from '../../guards/format-texts.ts'
import type { MessageTexts, Scope, TextCollector } from '../../guards/texts.ts'

/** Request members without text for the model. */
const SETTINGS = new Set([
  'model',
  'messages',
  'system',
  'stream',
  'tools',
  'tool_choice',
  'thinking',
  'metadata',
  'stop_sequences',
  'service_tier',
  'output_config',
  'output_format',
  'anthropic_version',
  'anthropic_beta',
  'betas',
  'container',
  'mcp_servers',
  'context_management',
  'cache_control',
  'inference_geo',
])

export const messagesTexts: FormatTexts = { request: readRequest, reply: readReply, event: readEvent }

function readRequest(body: JsonObject, into: TextCollector, native: boolean): void {
  readConversation(body, into, native, SETTINGS, readBlock)
}

/** A system prompt and turns, as the formats of Anthropic and of Bedrock's Converse have them. */
export function readConversation(
  body: JsonObject,
  into: TextCollector,
  native: boolean,
  settings: ReadonlySet<string>,
  read: typeof readBlock,
): void {
  if (body.system !== undefined) {
    const texts = into.message('system', { joint: '\n' })
    texts.content('systemPrompt', body, 'system', (part, list) => read(part, list, 'systemPrompt', texts, native))
  }
  const { messages } = body
  if (Array.isArray(messages)) {
    for (const [i, message] of messages.entries()) {
      if (!isObject(message)) {
        into.message('user').everything('messages', messages, i)
        continue
      }
      const scope = message.role === 'system' ? 'systemPrompt' : 'messages'
      const texts = into.message(typeof message.role === 'string' ? message.role : 'user')
      texts.content(scope, message, 'content', (part, list) => read(part, list, scope, texts, native))
    }
  } else into.message('user').everything('messages', body, 'messages')
  into.unknownMembers(body, settings)
}

/** False for a block of an unknown type. */
function readBlock(block: JsonObject, list: unknown[], scope: Scope, texts: MessageTexts, native: boolean): boolean {
  switch (block.type) {
    case 'text':
      return texts.text(scope, block, 'text', list)
    case 'image':
    case 'redacted_thinking':
      return true
    case 'thinking':
      // A provider of this format verifies the signature and would reject changed text; others do not.
      if (!(native && typeof block.signature === 'string' && block.signature !== '')) {
        texts.text(scope, block, 'thinking', list)
      }
      return true
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use':
      texts.everything('toolInput', block, 'input')
      return true
    default:
      if (typeof block.type !== 'string' || !block.type.endsWith('tool_result')) return false
      texts.content('toolOutput', block, 'content', (part, inner) => {
        if (part.type === 'text') return texts.text('toolOutput', part, 'text', inner)
        return part.type === 'image'
      })
      return true
  }
}

function readReply(reply: JsonObject, into: TextCollector): void {
  const content = Array.isArray(reply.content) ? reply.content : []
  for (const block of content) {
    if (!isObject(block)) continue
    const texts = into.message('assistant', { told: block.type === 'text' })
    if (!readBlock(block, content, 'messages', texts, false)) texts.everything('messages', { block }, 'block')
    into.onChange(texts.message, () => {
      // The signature does not match a changed thought.
      if (block.type === 'thinking') block.signature = ''
    })
  }
}

const DELTAS: Readonly<Record<string, readonly [member: string, scope: Scope]>> = {
  text_delta: ['text', 'messages'],
  thinking_delta: ['thinking', 'messages'],
  input_json_delta: ['partial_json', 'toolInput'],
}
const PIECEWISE = new Set(['text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 'mcp_tool_use'])

function readEvent(event: JsonObject, found: EventTexts): void {
  const key = `${labelOf(event.index)}:`
  switch (event.type) {
    case 'content_block_start': {
      const block = objectOf(event.content_block)
      if (!PIECEWISE.has(labelOf(block.type))) {
        const texts = found.whole('assistant')
        if (!readBlock(block, listOf([]) as unknown[], 'messages', texts, false)) {
          texts.everything('messages', event, 'content_block')
        }
      }
      for (const [kind, name] of [
        ['text_delta', 'text'],
        ['thinking_delta', 'thinking'],
      ] as const) {
        if (block[name] !== '')
          found.piece(key, 'messages', block, name, text => deltaOf(event.index, kind, name, text))
      }
      if (isObject(block.input)) found.whole('assistant').everything('toolInput', block, 'input')
      found.stays()
      break
    }
    case 'content_block_delta': {
      const delta = objectOf(event.delta)
      const kind = labelOf(delta.type)
      const known = Object.hasOwn(DELTAS, kind) ? DELTAS[kind] : undefined
      if (known) {
        const [name, scope] = known
        found.piece(key, scope, delta, name, text => deltaOf(event.index, kind, name, text))
      } else {
        found.stays()
        if (kind !== 'signature_delta') found.whole('assistant').everything('messages', event, 'delta')
      }
      break
    }
    case 'content_block_stop':
      found.closes(key)
      found.stays()
      break
    default:
      if (event.type !== 'ping' && event.type !== 'message_start') found.closes('')
      found.stays()
  }
}

function deltaOf(index: unknown, type: string, name: string, text: string): JsonObject {
  return { type: 'content_block_delta', index, delta: { type, [name]: text } }
}

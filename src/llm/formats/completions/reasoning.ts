import type { Part, ReasoningPart } from '../../chat/chat.ts'
import { isObject, type JsonObject, listOf, textOf } from '../../chat/json.ts'

// OpenAI's format has no reasoning. Most servers use `reasoning_content` and `reasoning_signature`; `thinking_blocks`
// is exact where one text and one signature are not enough.

export function readReasoning(message: JsonObject, at: string): ReasoningPart[] {
  const blocks = listOf(message.thinking_blocks)
  if (blocks.length > 0) return blocks.flatMap((block, i) => readBlock(block, `${at}.thinking_blocks[${i}]`))
  const text = textOf(message.reasoning_content) ?? textOf(message.reasoning)
  const signature = textOf(message.reasoning_signature)
  if (!text && !signature) return []
  return [{ kind: 'reasoning', text: text ?? '', at: `${at}.reasoning_content`, ...(signature ? { signature } : {}) }]
}

function readBlock(block: unknown, at: string): ReasoningPart[] {
  if (!isObject(block)) return []
  const redacted = textOf(block.data)
  if (block.type === 'redacted_thinking' && redacted !== undefined)
    return [{ kind: 'reasoning', text: '', redacted, at }]
  const signature = textOf(block.signature)
  return [{ kind: 'reasoning', text: textOf(block.thinking) ?? '', at, ...(signature ? { signature } : {}) }]
}

export function writeReasoning(parts: readonly Part[]): JsonObject {
  const blocks = parts.filter(part => part.kind === 'reasoning')
  if (blocks.length === 0) return {}
  const text = blocks.map(each => each.text).join('')
  const signature = blocks.findLast(each => each.signature !== undefined)?.signature
  return {
    ...(text === '' ? {} : { reasoning_content: text }),
    ...(signature === undefined ? {} : { reasoning_signature: signature }),
    ...(blocks.length > 1 || blocks[0]?.redacted !== undefined ? { thinking_blocks: blocks.map(writeBlock) } : {}),
  }
}

function writeBlock({ text, signature, redacted }: ReasoningPart): JsonObject {
  if (redacted !== undefined) return { type: 'redacted_thinking', data: redacted }
  return { type: 'thinking', thinking: text, ...(signature === undefined ? {} : { signature }) }
}

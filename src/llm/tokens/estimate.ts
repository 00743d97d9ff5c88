import { setImmediate as turn } from 'node:timers/promises'
import type { Chat, Part } from '../chat/chat.ts'
import { counterFor, type TextCounter } from './vocabulary.ts'

/** Characters that are counted; the rest is extrapolated. */
const MAX_COUNTED = 256 * 1024
/** Characters between yields to the event loop. */
const SLICE = 8 * 1024
/** Characters of a word: splitting takes quadratic time. */
const MAX_WORD = 256
/** Tokens around each message, and at the end. */
const PER_MESSAGE = 4
const AT_THE_END = 3
/** Tokens of an image or document; the actual cost depends on the model and on its size. */
const PER_MEDIA = 1000

/** Estimates the input tokens of a request: texts, tools, calls and their results, with a public vocabulary. */
export async function estimateTokens(chat: Chat, model: string): Promise<number> {
  const texts: string[] = []
  let media = 0
  const take = (part: Part): void => {
    const text = textIn(part)
    if (text !== undefined) texts.push(text)
    else if (part.kind === 'toolResult') part.parts.forEach(take)
    else media++
  }
  chat.system.forEach(take)
  for (const { parts } of chat.turns) parts.forEach(take)
  for (const { name, description = '', schema } of chat.tools) {
    texts.push(`${name} ${description} ${schema === undefined ? '' : JSON.stringify(schema)}`)
  }
  const messages = chat.turns.length + (chat.system.length > 0 ? 1 : 0)
  return (await countAll(texts, await counterFor(model))) + messages * PER_MESSAGE + AT_THE_END + media * PER_MEDIA
}

/** Counts the whole of a body whose structure is unknown. */
export async function estimateText(text: string, model: string): Promise<number> {
  return countAll([text], await counterFor(model))
}

function textIn(part: Part): string | undefined {
  switch (part.kind) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      return part.text
    case 'toolCall':
      return `${part.name} ${part.arguments}`
    case 'foreign':
      return JSON.stringify(part.value)
    case 'document':
      return part.source.kind === 'text' ? part.source.text : undefined
    default:
      return undefined
  }
}

async function countAll(texts: readonly string[], countText: TextCounter): Promise<number> {
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  let counted = 0
  let tokens = 0
  let sinceTurn = 0
  for (const text of texts) {
    for (const piece of pieces(text)) {
      if (counted >= MAX_COUNTED) return Math.ceil((tokens / counted) * length)
      tokens += countText(piece)
      counted += piece.length
      sinceTurn += piece.length
      if (sinceTurn < SLICE) continue
      sinceTurn = 0
      await turn()
    }
  }
  return tokens
}

/** Split before spaces, where tokens begin too. */
function* pieces(text: string): Generator<string> {
  let start = 0
  while (start < text.length) {
    let end = Math.min(text.length, start + MAX_WORD)
    if (end < text.length) {
      const space = text.lastIndexOf(' ', end)
      if (space > start) end = space
    }
    yield text.slice(start, end)
    start = end
  }
}

import type { ChatEvent, ChatReply, Part } from './chat.ts'
import { partName } from './content.ts'

/** A whole response as the stream that the client requested: some servers cannot stream. */
export function replyEvents({ id, model, created, choices, usage }: ChatReply): ChatEvent[] {
  const start = { ...(id ? { id } : {}), ...(model ? { model } : {}), ...(created ? { created } : {}) }
  const events: ChatEvent[] = [{ type: 'start', ...start }]
  let next = 0
  for (const [choice, { parts, stop, stopSequence, logprobs }] of choices.entries()) {
    for (const part of parts) events.push(...partEvents(part, next++, choice))
    if (logprobs !== undefined) events.push({ type: 'logprobs', choice, value: logprobs })
    events.push({ type: 'stop', choice, reason: stop, ...(stopSequence ? { sequence: stopSequence } : {}) })
  }
  if (usage) events.push({ type: 'usage', usage })
  events.push({ type: 'end' })
  return events
}

function partEvents(given: Part, part: number, choice: number): ChatEvent[] {
  const around = (open: Omit<Extract<ChatEvent, { type: 'open' }>, 'type' | 'part' | 'choice'>, text: string) =>
    [
      { type: 'open', part, choice, ...open },
      { type: 'delta', part, text },
      { type: 'close', part },
    ] as const satisfies ChatEvent[]
  switch (given.kind) {
    case 'text':
    case 'refusal':
      return [...around({ kind: given.kind }, given.text)]
    case 'toolCall': {
      const { id, name, custom, signature, arguments: text } = given
      const about = { ...(custom ? { custom } : {}), ...(signature === undefined ? {} : { signature }) }
      return [...around({ kind: 'toolCall', id, name, ...about }, text)]
    }
    case 'reasoning': {
      if (given.redacted !== undefined) return [...around({ kind: 'redacted' }, given.redacted)]
      const [open, delta, close] = around({ kind: 'reasoning' }, given.text)
      return given.signature === undefined
        ? [open, delta, close]
        : [open, delta, { type: 'signature', part, signature: given.signature }, close]
    }
    default:
      return [{ type: 'lost', path: given.at, what: partName(given) }]
  }
}

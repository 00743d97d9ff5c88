import type { Chat, Part, Turn } from './chat.ts'
import type { ChatCodec } from './codec.ts'
import { Identifiers } from './identifiers.ts'

/** Rewrites a conversation's order and identifiers to what every provider of the format accepts. */
export function fitRequest(chat: Chat, { identifiers }: Pick<ChatCodec, 'identifiers'>): void {
  joinResults(chat.turns)
  const names = new Identifiers(identifiers.tools, chat.renamed)
  const ids = new Identifiers(identifiers.calls)
  // Definitions first: the rest of the conversation uses their names.
  for (const [i, tool] of chat.tools.entries()) {
    if (tool.foreign === undefined) chat.tools[i] = { ...tool, name: names.of(tool.name) }
  }
  const choice = chat.toolChoice
  if (choice?.mode === 'tool') chat.toolChoice = { ...choice, name: names.of(choice.name) }
  if (choice?.mode === 'some') chat.toolChoice = { ...choice, names: choice.names.map(name => names.of(name)) }
  for (const { parts } of chat.turns) for (const [i, part] of parts.entries()) parts[i] = fitted(part, names, ids)
}

function fitted(part: Part, names: Identifiers, ids: Identifiers): Part {
  if (part.kind === 'toolCall') return { ...part, id: ids.of(part.id), name: names.of(part.name) }
  if (part.kind !== 'toolResult') return part
  const { name } = part
  return { ...part, id: ids.of(part.id), ...(name === undefined ? {} : { name: names.of(name) }) }
}

/** The results of one turn's calls are joined: an image of the first must not come before the second. */
function joinResults(turns: Turn[]): void {
  let kept = 0
  for (const turn of turns) {
    const last = turns[kept - 1]
    if (kept > 0 && last && answers(last) && answers(turn)) last.parts.push(...turn.parts)
    else turns[kept++] = turn
  }
  turns.length = kept
}

function answers({ role, parts }: Turn): boolean {
  return role === 'user' && parts.some(({ kind }) => kind === 'toolResult')
}

import type { Chat, Part } from './chat.ts'
import type { Losses } from './losses.ts'

const SEPARATOR = '__thought__'

/** The id of a tool call carries Gemini's thought signature to clients that have no field for it, and back. */
export function joinSignature(id: string, signature: string | undefined): string {
  return signature === undefined ? id : `${id}${SEPARATOR}${signature}`
}

/** Takes the signatures out of the ids again. */
export function splitSignatures({ turns }: Chat): void {
  for (const { parts } of turns) for (const [i, part] of parts.entries()) parts[i] = split(part)
}

function split(part: Part): Part {
  if (part.kind !== 'toolCall' && part.kind !== 'toolResult') return part
  const at = part.id.indexOf(SEPARATOR)
  if (at < 0) return part
  const id = part.id.slice(0, at)
  return part.kind === 'toolResult' ? { ...part, id } : { ...part, id, signature: part.id.slice(at + SEPARATOR.length) }
}

/** Of a request to a provider that did not sign them. */
export function loseSignatures({ turns }: Chat, losses: Losses): void {
  for (const { parts } of turns) {
    for (const part of parts) {
      if (part.kind === 'toolCall' && part.signature !== undefined)
        losses.add(part.at, 'the signature of the call is of another provider')
    }
  }
}

import type { Chat, Part } from './chat.ts'
import type { Losses } from './losses.ts'

const SEPARATOR = '__thought__'

/** Tool call ids carry Gemini's thought signatures through clients that have no field for them. */
export function joinSignature(id: string, signature: string | undefined): string {
  return signature === undefined ? id : `${id}${SEPARATOR}${signature}`
}

/** Separates the signatures from the ids again. */
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

/** Drops the signatures from a request to a provider that did not issue them. */
export function loseSignatures({ turns }: Chat, losses: Losses): void {
  for (const { parts } of turns) {
    for (const part of parts) {
      if ((part.kind === 'toolCall' || part.kind === 'text') && part.signature !== undefined)
        losses.add(part.at, "signed by another provider's model; signature dropped")
    }
  }
}

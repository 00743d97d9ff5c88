import type { JsonBody } from './json-body.ts'

export interface Prompt {
  readonly role: string
  readonly content: string
}

/** Messages added to each request. */
export interface Prompts {
  readonly prepend?: readonly Prompt[]
  readonly append?: readonly Prompt[]
}

/** Adds messages around the list at `key` of a body. */
export function surround(body: JsonBody, key: string, prompts: Prompts): void {
  const given = body.get(key)
  body.set(key, [...(prompts.prepend ?? []), ...(Array.isArray(given) ? given : []), ...(prompts.append ?? [])])
}

/** Separates system prompts from the others. */
export function splitSystem(prompts: Prompts): { readonly system: Prompts; readonly rest: Prompts } {
  const part = (keep: (prompt: Prompt) => boolean): Prompts => ({
    prepend: (prompts.prepend ?? []).filter(keep),
    append: (prompts.append ?? []).filter(keep),
  })
  return { system: part(({ role }) => role === 'system'), rest: part(({ role }) => role !== 'system') }
}

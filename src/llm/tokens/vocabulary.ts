/** The built-in vocabularies. */
type Vocabulary = 'o200k_base' | 'cl100k_base'

export type TextCounter = (text: string) => number

/** OpenAI's models since GPT-4o. */
const NEWER = /^(?:gpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|gpt-oss|chatgpt-4o|o[1-9](?:-|$))/

/** Counts the tokens of a text as the model does, or as a contemporary model if its vocabulary is unpublished. */
export async function counterFor(model: string): Promise<TextCounter> {
  const name: Vocabulary = NEWER.test(model.slice(model.lastIndexOf('/') + 1)) ? 'o200k_base' : 'cl100k_base'
  // Two to three megabytes that most gateways never need.
  const { countTokens } =
    name === 'o200k_base'
      ? await import('gpt-tokenizer/encoding/o200k_base')
      : await import('gpt-tokenizer/encoding/cl100k_base')
  return text => countTokens(text, AS_TEXT)
}

/** Control tokens in text count as text: a client must not be able to make counting fail. */
const AS_TEXT = { disallowedSpecial: new Set<string>() }

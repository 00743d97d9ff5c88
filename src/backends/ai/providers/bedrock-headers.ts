import type { HeaderList } from '../../../http/headers.ts'

/** Features of Anthropic's API that Bedrock supports too (llm.md 3.10). */
const FEATURES = new Set([
  'computer-use-2025-01-24',
  'token-efficient-tools-2025-02-19',
  'interleaved-thinking-2025-05-14',
  'output-128k-2025-02-19',
  'dev-full-thinking-2025-05-14',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'effort-2025-11-24',
  'tool-search-tool-2025-10-19',
  'tool-examples-2025-10-29',
])

/** The features in `anthropic-beta` that the service supports. */
export function betaFeatures(headers: HeaderList): string[] {
  const asked = headers.getAll('anthropic-beta').flatMap(value => value.split(','))
  return asked.map(name => name.trim()).filter(name => FEATURES.has(name))
}

/** The flat object in `x-bedrock-metadata`, with values as text. */
export function requestMetadata(headers: HeaderList): Readonly<Record<string, string>> | undefined {
  const text = headers.get('x-bedrock-metadata')
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const plain = Object.entries(value).filter(([, each]) => typeof each !== 'object')
    return plain.length === 0 ? undefined : Object.fromEntries(plain.map(([name, each]) => [name, String(each)]))
  } catch {
    return undefined
  }
}

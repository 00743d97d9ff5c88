import type { JsonBody } from '../../llm/json-body.ts'

const PARAMETERS = [
  'temperature',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'seed',
  'max_tokens',
  'encoding_format',
  'dimensions',
] as const

/** The request parameters for logs and expressions: numbers and names, no conversation content. */
export function parametersIn(body: JsonBody): Readonly<Record<string, string | number>> | undefined {
  let found: Record<string, string | number> | undefined
  for (const name of PARAMETERS) {
    const value = body.get(name)
    if (typeof value === 'number' || (typeof value === 'string' && value.length <= 32)) {
      found ??= {}
      found[name] = value
    }
  }
  return found
}

export function modelIn(body: JsonBody | undefined): string {
  const model = body?.get('model')
  return typeof model === 'string' ? model : 'unknown'
}

import type { ServedFormat } from '../../../llm/formats/format.ts'

/** A hosted service that speaks known formats: shorthand for `custom` with these settings. */
export interface Preset {
  /** Its name in resources, where that is not the capitalized key. */
  readonly name?: string
  readonly baseUrl: string
  readonly formats: readonly { readonly type: ServedFormat; readonly path?: string }[]
  readonly takesThoughts?: boolean
}

const of = (...types: readonly ServedFormat[]) => types.map(type => ({ type }))

export const PRESETS = {
  cohere: {
    baseUrl: 'https://api.cohere.ai',
    formats: [
      { type: 'completions', path: '/compatibility/v1/chat/completions' },
      { type: 'embeddings', path: '/compatibility/v1/embeddings' },
      { type: 'rerank', path: '/v2/rerank' },
    ],
  },
  ollama: { baseUrl: 'http://localhost:11434/v1', formats: of('completions', 'responses', 'embeddings') },
  baseten: { baseUrl: 'https://inference.baseten.co/v1', formats: of('completions', 'messages'), takesThoughts: true },
  cerebras: { baseUrl: 'https://api.cerebras.ai/v1', formats: of('completions') },
  deepinfra: {
    baseUrl: 'https://api.deepinfra.com/v1/openai',
    formats: [{ type: 'completions' }, { type: 'messages', path: '/anthropic/v1/messages' }, { type: 'embeddings' }],
  },
  deepseek: {
    baseUrl: 'https://api.deepseek.com/v1',
    formats: [{ type: 'completions' }, { type: 'messages', path: '/anthropic/v1/messages' }, { type: 'responses' }],
    takesThoughts: true,
  },
  groq: { baseUrl: 'https://api.groq.com/openai/v1', formats: of('completions', 'responses') },
  huggingface: { baseUrl: 'https://router.huggingface.co/v1', formats: of('completions', 'responses') },
  mistral: { baseUrl: 'https://api.mistral.ai/v1', formats: of('completions', 'embeddings') },
  openrouter: {
    baseUrl: 'https://openrouter.ai/api/v1',
    formats: of('completions', 'messages', 'responses', 'embeddings', 'rerank'),
    takesThoughts: true,
  },
  togetherai: {
    name: 'TogetherAI',
    baseUrl: 'https://api.together.xyz/v1',
    formats: of('completions', 'embeddings', 'rerank'),
  },
  xai: { name: 'XAI', baseUrl: 'https://api.x.ai/v1', formats: of('completions', 'responses', 'realtime') },
  fireworks: {
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    formats: of('completions', 'messages', 'responses', 'embeddings', 'rerank'),
    takesThoughts: true,
  },
} as const satisfies Record<string, Preset>

export type PresetName = keyof typeof PRESETS
export const PRESET_NAMES = Object.keys(PRESETS) as PresetName[]

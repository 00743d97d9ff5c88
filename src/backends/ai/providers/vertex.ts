import { withoutCacheScopes } from '../../../llm/formats/messages/cache-scopes.ts'
import { pick } from '../../../policies/parts/cluster-form.ts'
import { def, object, opt, req, string } from '../../../schema/builder.ts'
import { shortString, tinyString } from '../../../schema/scalars.ts'
import {
  clusterModel,
  defineProvider,
  type EditableBody,
  type WireCall,
  type WireEdit,
  type WireFamily,
} from './provider.ts'

const vertexFields = {
  projectId: req(tinyString, 'The project.'),
  region: def(tinyString, 'global', 'The region.'),
}

export const vertex = defineProvider({
  key: 'vertex',
  telemetryName: 'gcp.vertex_ai',
  doc: 'Google Vertex AI.',
  settings: object('vertex provider', {
    model: opt(shortString, 'Model to use instead of the one that the request names.'),
    region: opt(string({ min: 1, max: 63 }), 'Region; the global endpoint when unset.'),
    projectId: req(string({ min: 1 }), 'Google Cloud project.'),
  }),
  cluster: [
    {
      member: 'vertexai',
      name: 'VertexAI',
      field: opt(object('Vertex AI provider', { ...vertexFields, model: clusterModel }), 'A cloud ML platform.'),
      convert: part => pick(part, { model: 'model', projectId: 'projectId', region: 'region' }),
      settings: {
        field: opt(object('Vertex AI settings', vertexFields), 'Settings for VertexAI.'),
        params: part => ({ vertexProject: part.projectId, vertexRegion: part.region }),
      },
    },
  ],
  unserved: 'Vertex AI is not called yet: its tokens come from Google credentials.',
  wire: ({ model, region, projectId }) => ({
    host: regionHost(region),
    basePath: `/v1/projects/${projectId}/locations/${region ?? 'global'}`,
    prefixReplacesBase: false,
    formats: OPEN_MODELS.formats,
    family: familyOf,
    model,
    credential: 'bearer',
  }),
})

function regionHost(region: string | undefined): string {
  if (region === undefined || region === 'global') return 'aiplatform.googleapis.com'
  if (region === 'us' || region === 'eu') return `aiplatform.${region}.rep.googleapis.com`
  return `${region}-aiplatform.googleapis.com`
}

const CLAUDE = /publishers\/anthropic\/models\/|^anthropic\/|^claude-/
const EMBEDDING =
  /^(?:text-embedding-|gemini-embedding-|text-multilingual-embedding-|textembedding-|multimodalembedding)/

function familyOf(model: string): WireFamily {
  if (CLAUDE.test(model)) return CLAUDE_MODELS
  const id = geminiId(model)
  return /^gemini[-@]/.test(id) && !EMBEDDING.test(id) ? GEMINI_MODELS : OPEN_MODELS
}

function geminiId(model: string): string {
  return model.replace(/^(?:publishers\/google\/models\/|models\/|google\/)/, '')
}

/** A dated name such as `claude-sonnet-4-20250514` is written with `@` here. */
function claudeId(model: string): string {
  return model.replace(/^.*publishers\/anthropic\/models\/|^anthropic\//, '').replace(/-(\d{8})$/, '@$1')
}

const OPEN_MODELS: WireFamily = { formats: { completions: base => `${base}/endpoints/openapi/chat/completions` } }

const GEMINI_MODELS: WireFamily = {
  formats: {
    generateContent: (base, call) =>
      `${geminiPath(base, call)}:${call.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    geminiCountTokens: (base, call) => `${geminiPath(base, call)}:countTokens`,
    completions: base => `${base}/endpoints/openapi/chat/completions`,
  },
  edit(body, { format, model }) {
    // The endpoint for OpenAI's clients wants the publisher before the name.
    if (format === 'completions' && !model.includes('/')) body.set('model', `google/${model}`)
  },
}

function geminiPath(base: string, { model }: WireCall): string {
  return `${base}/publishers/google/models/${encodeURIComponent(geminiId(model))}`
}

const CLAUDE_MODELS: WireFamily = {
  formats: {
    messages: (base, { model, stream }) =>
      `${base}/publishers/anthropic/models/${claudeId(model)}:${stream ? 'streamRawPredict' : 'rawPredict'}`,
    anthropicTokenCount: base => `${base}/publishers/anthropic/models/count-tokens:rawPredict`,
  },
  edit: editClaude,
}

function editClaude(body: EditableBody, { format, model }: WireEdit): void {
  body.set('anthropic_version', 'vertex-2023-10-16')
  body.set('model', format === 'anthropicTokenCount' ? claudeId(model) : undefined)
  body.set('output_format', undefined)
  for (const name of ['system', 'messages', 'tools']) {
    const value = body.get(name)
    if (Array.isArray(value)) body.set(name, withoutCacheScopes(value))
  }
}

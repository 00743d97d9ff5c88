import { googleSigner } from '../../../auth/cloud/google-signer.ts'
import { vertexEmbeddings } from '../../../llm/formats/embeddings/vertex.ts'
import { withoutCacheScopes } from '../../../llm/formats/messages/cache-scopes.ts'
import { vertexRerank } from '../../../llm/formats/rerank/vertex.ts'
import { pick } from '../../../policies/parts/cluster-form.ts'
import { def, object, opt, req, string } from '../../../schema/builder.ts'
import { shortString, tinyString } from '../../../schema/scalars.ts'
import {
  clusterModel,
  defineProvider,
  type EditableBody,
  isSegment,
  type WireCall,
  type WireEdit,
  type WireFamily,
  type WirePath,
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
    model: opt(shortString, 'Model to use instead of the one in the request.'),
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
  params: { region: 'vertexRegion', projectId: 'vertexProject' },
  wire: ({ model, region = 'global', projectId }) => {
    const families = familiesAt(`/v1/projects/${encodeURIComponent(projectId)}/locations/${encodeURIComponent(region)}`)
    return {
      host: regionHost(region),
      hosts: { rerank: 'discoveryengine.googleapis.com' },
      basePath: '',
      prefixReplacesBase: false,
      ...families.open,
      family: name => {
        const family = familyOf(name)
        return family === 'claude' && !isSegment(claudeId(name)) ? undefined : families[family]
      },
      model,
      credential: 'bearer',
      sign: ctx => googleSigner({ type: 'accessToken' }, ctx),
    }
  },
})

function regionHost(region: string): string {
  if (region === 'global') return 'aiplatform.googleapis.com'
  if (region === 'us' || region === 'eu') return `aiplatform.${region}.rep.googleapis.com`
  return `${region}-aiplatform.googleapis.com`
}

const CLAUDE = /publishers\/anthropic\/models\/|^anthropic\/|^claude-/
const EMBEDDING =
  /^(?:text-embedding-|gemini-embedding-|text-multilingual-embedding-|textembedding-|multimodalembedding)/

type Family = 'claude' | 'gemini' | 'open'

function familyOf(model: string): Family {
  if (CLAUDE.test(model)) return 'claude'
  const id = geminiId(model)
  return /^gemini[-@]/.test(id) && isSegment(id) && !EMBEDDING.test(id) ? 'gemini' : 'open'
}

function geminiId(model: string): string {
  return model.replace(/^(?:publishers\/google\/models\/|models\/|google\/)/, '')
}

/** A dated name such as `claude-sonnet-4-20250514` has `@` before the date here. */
function claudeId(model: string): string {
  return model.replace(/^.*publishers\/anthropic\/models\/|^anthropic\//, '').replace(/-(\d{8})$/, '@$1')
}

/** `place`: project and region, as the prefix of every path. */
function familiesAt(place: string): Readonly<Record<Family, WireFamily>> {
  const completions: WirePath = base => `${base}${place}/endpoints/openapi/chat/completions`
  const rerank: WirePath = base => `${base}${place}/rankingConfigs/default_ranking_config:rank`
  const google = (base: string, model: string) =>
    `${base}${place}/publishers/google/models/${encodeURIComponent(geminiId(model))}`
  const embeddings = {
    path: (base: string, { model }: WireCall) => `${google(base, model)}:predict`,
    plain: { embeddings: vertexEmbeddings },
  }
  const anthropic = (base: string, model: string) =>
    `${base}${place}/publishers/anthropic/models/${encodeURIComponent(model).replace('%40', '@')}`
  return {
    open: {
      formats: { completions, embeddings: embeddings.path, rerank },
      plain: { ...embeddings.plain, rerank: vertexRerank },
    },
    gemini: {
      formats: {
        generateContent: (base, { model, stream }) =>
          `${google(base, model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
        geminiCountTokens: (base, { model }) => `${google(base, model)}:countTokens`,
        completions,
        embeddings: embeddings.path,
      },
      plain: embeddings.plain,
      edit: editGemini,
    },
    claude: {
      formats: {
        messages: (base, { model, stream }) =>
          `${anthropic(base, claudeId(model))}:${stream ? 'streamRawPredict' : 'rawPredict'}`,
        anthropicTokenCount: base => `${anthropic(base, 'count-tokens')}:rawPredict`,
      },
      edit: editClaude,
    },
  }
}

/** The OpenAI-compatible endpoint requires the publisher before the name. */
function editGemini(body: EditableBody, { format, model }: WireEdit): void {
  if (format === 'completions') body.set('model', `google/${geminiId(model)}`)
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

/** The gateway: a model for each provider, each with its endpoints on one local server, and one for its embeddings. */
export function gatewayFor({ url }) {
  const baseUrl = path => ({ baseUrl: `${url}${path}` })
  const key = { apiKey: 'of-the-gateway' }
  const custom = type => ({ custom: { formats: [{ type }] } })
  const models = [
    { name: 'openai', provider: 'openai', params: { ...baseUrl('/v1'), ...key, model: 'gpt-5' } },
    { name: 'azure', provider: 'azure', params: { ...baseUrl(''), ...key, ...AZURE, model: 'gpt-5' } },
    { name: 'anthropic', provider: 'anthropic', params: { ...baseUrl('/v1'), ...key, model: 'claude-opus-4-1' } },
    { name: 'gemini', provider: 'gemini', params: { ...baseUrl('/v1beta'), ...key, model: 'gemini-2.5-pro' } },
    {
      name: 'vertex-gemini',
      provider: 'vertex',
      params: { ...baseUrl(''), ...key, ...VERTEX, model: 'gemini-2.5-pro' },
    },
    {
      name: 'vertex-claude',
      provider: 'vertex',
      params: { ...baseUrl(''), ...key, ...VERTEX, model: 'claude-opus-4-1' },
    },
    { name: 'bedrock', provider: 'bedrock', params: { ...baseUrl(''), model: 'us.amazon.nova-pro-v1:0' } },
    { name: 'bedrock-claude', provider: 'bedrock', params: { ...baseUrl(''), model: 'us.anthropic.claude-opus-4-1' } },
    { name: 'completions', provider: custom('completions'), params: { ...baseUrl('/v1'), model: 'llama' } },
    { name: 'responses', provider: custom('responses'), params: { ...baseUrl('/v1'), model: 'llama' } },
  ]
  const embeddings = models.map(({ name, provider, params }) => ({
    name: `${name}-embedding`,
    provider,
    params: {
      ...params,
      model: name.startsWith('bedrock') ? 'amazon.titan-embed-text-v2:0' : 'text-embedding-3-small',
    },
  }))
  const known = models.map(model => ({ ...model, name: `gemini-2.0-${model.name}` }))
  return { names: models.map(({ name }) => name), models: [...models, ...embeddings, ...known] }
}

const AZURE = { azureResourceName: 'mine', azureResourceType: 'openAI' }
const VERTEX = { vertexProject: 'mine', vertexRegion: 'us-central1' }

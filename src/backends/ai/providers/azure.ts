import { def, object, oneOf, opt, req } from '../../../schema/builder.ts'
import { shortString, tinyString } from '../../../schema/scalars.ts'
import { defineProvider } from './provider.ts'

export const azure = defineProvider({
  key: 'azure',
  telemetryName: 'azure',
  doc: 'Azure OpenAI and Azure AI Foundry.',
  settings: object('azure provider', {
    model: opt(shortString, 'Model (deployment) to use instead of the one that the request names.'),
    resourceName: req(shortString, 'Name of the Azure resource.'),
    resourceType: req(oneOf(['openAI', 'foundry'], { aiServices: 'foundry' }), 'Kind of the Azure resource.'),
    apiVersion: def(tinyString, 'v1', 'API version.'),
    projectName: opt(shortString, 'Foundry project.'),
  }),
  unserved: 'Azure is not called yet: its tokens come from Azure credentials.',
  wire: ({ model, resourceName, resourceType, projectName }) => ({
    host: `${resourceName}.${resourceType === 'openAI' ? 'openai.azure.com' : 'services.ai.azure.com'}`,
    basePath: resourceType === 'openAI' ? '/openai/v1' : `/api/projects/${projectName ?? resourceName}/openai/v1`,
    prefixReplacesBase: false,
    formats: { completions: undefined, responses: undefined, embeddings: undefined },
    model,
    credential: 'bearer',
    maxCompletionTokens: /^gpt-/,
  }),
})

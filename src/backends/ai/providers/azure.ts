import { azureSigner } from '../../../auth/cloud/azure-signer.ts'
import { type ClusterContext, defined, type Policies } from '../../../policies/parts/cluster-form.ts'
import { def, type ObjectProblem, object, oneOf, opt, req, serverRule } from '../../../schema/builder.ts'
import { missing } from '../../../schema/rules.ts'
import { shortString, tinyString } from '../../../schema/scalars.ts'
import type { Fields } from '../../../schema/untyped.ts'
import { clusterModel, defineProvider, isSegment, type WireFamily, type WirePath } from './provider.ts'

const azureFields = {
  resourceName: req(shortString, 'The resource.'),
  resourceType: req(oneOf(['OpenAI', 'Foundry']), 'The kind of resource.'),
  apiVersion: def(tinyString, 'v1', 'The version of the API.'),
  projectName: opt(shortString, 'The project; required for Foundry.'),
}
function foundryNeedsProject(value: Record<string, unknown>): readonly ObjectProblem[] {
  return value.resourceType === 'Foundry' && value.projectName === undefined
    ? [missing('projectName', '`resourceType: Foundry` needs `projectName`')]
    : []
}
const FOUNDRY_RULE = serverRule(
  "self.resourceType != 'Foundry' || has(self.projectName)",
  'resourceType Foundry needs projectName',
)
function oldApiNeedsDeployment(value: Record<string, unknown>): readonly ObjectProblem[] {
  return value.apiVersion !== 'v1' && value.deploymentName === undefined
    ? [missing('deploymentName', 'an `apiVersion` other than v1 needs `deploymentName`')]
    : []
}
const RESOURCE_RULES = { check: foundryNeedsProject, rules: [FOUNDRY_RULE] }
const deployment = object(
  'Azure OpenAI provider',
  {
    endpoint: req(shortString, 'The host name.'),
    deploymentName: opt(shortString, 'The deployment; required unless `apiVersion` is v1.'),
    apiVersion: def(tinyString, 'v1', 'The version of the API.'),
  },
  {
    check: oldApiNeedsDeployment,
    rules: [
      serverRule(
        "self.apiVersion == 'v1' || has(self.deploymentName)",
        'an apiVersion other than v1 needs deploymentName',
      ),
    ],
  },
)

export const azure = defineProvider({
  key: 'azure',
  telemetryName: 'azure',
  doc: 'Azure OpenAI and Azure AI Foundry.',
  settings: object('azure provider', {
    model: opt(shortString, 'Model (deployment) to use instead of the one in the request.'),
    resourceName: req(shortString, 'Name of the Azure resource.'),
    resourceType: req(oneOf(['openAI', 'foundry'], { aiServices: 'foundry' }), 'Kind of the Azure resource.'),
    apiVersion: def(tinyString, 'v1', 'API version.'),
    projectName: opt(shortString, 'Foundry project.'),
  }),
  cluster: [
    {
      member: 'azureopenai',
      field: opt(deployment, 'A deployment of chat-completions models.'),
      convert: convertDeployment,
    },
    {
      member: 'azure',
      name: 'Azure',
      field: opt(
        object('Azure provider', { ...azureFields, model: clusterModel }, RESOURCE_RULES),
        'A resource that serves models.',
      ),
      convert: convertResource,
      settings: {
        field: opt(object('Azure settings', azureFields, RESOURCE_RULES), 'Settings for Azure.'),
        params: part => ({
          azureResourceName: part.resourceName,
          azureResourceType: part.resourceType === 'Foundry' ? 'foundry' : 'openAI',
          azureApiVersion: part.apiVersion,
          azureProjectName: part.projectName,
        }),
      },
    },
  ],
  params: {
    resourceName: 'azureResourceName',
    resourceType: 'azureResourceType',
    apiVersion: 'azureApiVersion',
    projectName: 'azureProjectName',
  },
  wire: ({ model, resourceName, resourceType, projectName, apiVersion }) => {
    const foundry = resourceType === 'foundry'
    const models = openAiModels(foundry ? foundryPaths(projectName ?? resourceName) : pathsFor(apiVersion))
    const familyOf = (name: string) => {
      if (foundry) return /^claude/i.test(name) ? CLAUDE_MODELS : models
      return isSegment(name) ? models : undefined
    }
    return {
      host: resourceHost(resourceName, foundry),
      basePath: '',
      prefixReplacesBase: false,
      ...models,
      family: familyOf,
      model,
      credential: 'api-key',
      maxCompletionTokens: /^gpt-/,
      sign: ctx => azureSigner({ identity: { kind: 'implicit' }, foundry }, ctx),
    }
  },
})

/** A deployment on a custom domain is named by its whole host. */
function resourceHost(resource: string, foundry: boolean): string {
  return resource.includes('.') ? resource : `${resource}.${foundry ? 'services.ai.azure.com' : 'openai.azure.com'}`
}

function convertResource(part: Fields): Policies {
  return defined({
    model: part.model,
    resourceName: part.resourceName,
    resourceType: part.resourceType === 'Foundry' ? 'foundry' : 'openAI',
    apiVersion: part.apiVersion,
    projectName: part.projectName,
  })
}

/** A host on the cloud's own domains is reduced to its resource name; any other host is used whole. */
function convertDeployment(part: Fields, ctx: ClusterContext): Policies {
  const host = String(part.endpoint)
    .replace(/^https?:\/\//, '')
    .replace(/\/.*$/, '')
  const own = /^([^.]+)\.(openai\.azure\.com|services\.ai\.azure\.com)$/.exec(host)
  if (!own && !/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i.test(host)) ctx.lose(part, `the endpoint ${host} is not a host name`)
  return defined({
    model: part.deploymentName,
    resourceName: own?.[1] ?? host,
    resourceType: own?.[2]?.startsWith('services') ? 'foundry' : 'openAI',
    apiVersion: part.apiVersion,
  })
}

type Paths = (suffix: string, deployed: boolean) => WirePath

function foundryPaths(project: string): Paths {
  return suffix => base => `${base}/api/projects/${encodeURIComponent(project)}/openai/v1/${suffix}`
}

function pathsFor(apiVersion: string): Paths {
  if (apiVersion === 'v1') return suffix => base => `${base}/openai/v1/${suffix}`
  const query = `?api-version=${encodeURIComponent(apiVersion)}`
  if (apiVersion === 'preview') return suffix => base => `${base}/openai/v1/${suffix}${query}`
  return (suffix, deployed) =>
    (base, { model }) =>
      `${base}/openai/${deployed ? `deployments/${encodeURIComponent(model)}/` : ''}${suffix}${query}`
}

function openAiModels(paths: Paths): WireFamily {
  return {
    formats: {
      completions: paths('chat/completions', true),
      responses: paths('responses', false),
      embeddings: paths('embeddings', true),
    },
  }
}

const CLAUDE_MODELS: WireFamily = {
  formats: {
    messages: base => `${base}/anthropic/v1/messages`,
    anthropicTokenCount: base => `${base}/anthropic/v1/messages/count_tokens`,
  },
  headers: { 'anthropic-version': '2023-06-01' },
}

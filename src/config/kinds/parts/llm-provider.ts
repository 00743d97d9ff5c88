import {
  def,
  list,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  req,
  serverRule,
  string,
  urlText,
} from '../../../schema/builder.ts'
import { absolutePath } from '../../../schema/resource-scalars.ts'
import { longString, port, shortString, tinyString } from '../../../schema/scalars.ts'
import { all, missing, problem } from '../resource.ts'
import { modelServerRef } from './object-references.ts'

const model = opt(shortString, 'The model; the one in the request when unset.')
const mode = (what: string) =>
  opt(
    object('moderation mode', { mode: req(oneOf(['Block', 'Score']), 'What is done with flagged text.') }),
    `For ${what}.`,
  )
const moderation = object('moderation', {
  model: def(shortString, 'omni-moderation-latest', 'The moderation model.'),
  policy: opt(object('moderation policy', { input: mode('prompts'), output: mode('replies') }), 'What is done.'),
})

const FORMATS = [
  'Completions',
  'Messages',
  'Responses',
  'Embeddings',
  'AnthropicTokenCount',
  'Realtime',
  'Rerank',
] as const
const format = object('provider format', {
  type: req(oneOf(FORMATS), 'The API format.'),
  path: opt(absolutePath, 'Its path on the provider.'),
})
const customFields = {
  formats: req(list(format, { min: 1, max: 6, unique: ['type'] }), 'The API formats that the provider speaks.'),
  backendRef: opt(modelServerRef, 'The Service or InferencePool that serves the models.'),
}

const region = string({ min: 1, max: 63, pattern: /^[a-z0-9-]+$/, form: 'lower-case letters, digits and `-`' })
const bedrockFields = {
  region: def(region, 'us-east-1', 'The region.'),
  guardrail: opt(
    object('provider guardrail', {
      identifier: req(shortString, 'The guardrail.'),
      version: req(shortString, 'Its version.'),
    }),
    'A guardrail of the provider.',
  ),
}
const vertexFields = {
  projectId: req(tinyString, 'The project.'),
  region: def(tinyString, 'global', 'The region.'),
}
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

const variants = {
  openai: opt(
    object('OpenAI provider', { model, moderation: opt(moderation, 'Has prompts and replies moderated.') }),
    'A chat-completions provider.',
  ),
  azureopenai: opt(
    object(
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
    ),
    'A deployment of chat-completions models.',
  ),
  azure: opt(
    object('Azure provider', { ...azureFields, model }, { check: foundryNeedsProject, rules: [FOUNDRY_RULE] }),
    'A resource that serves models.',
  ),
  anthropic: opt(object('Anthropic provider', { model }), 'A messages-API provider.'),
  gemini: opt(object('Gemini provider', { model }), 'A multimodal-model provider.'),
  vertexai: opt(object('Vertex AI provider', { ...vertexFields, model }), 'A cloud ML platform.'),
  bedrock: opt(object('Bedrock provider', { ...bedrockFields, model }), 'Managed cloud models.'),
  custom: opt(object('custom provider', { ...customFields, model }), 'Your own model server.'),
}

function addressRules(value: Record<string, unknown>): readonly ObjectProblem[] {
  if (value.host !== undefined && value.port === undefined) return [missing('port', '`host` needs `port` beside it')]
  if (value.port !== undefined && value.host === undefined) return [missing('host', '`port` needs `host` beside it')]
  if (value.pathPrefix === undefined) return []
  const prefixed = value.openai ?? value.anthropic ?? value.custom
  if (!prefixed) {
    return [problem(['pathPrefix'], '`pathPrefix` is only for the providers `openai` and `anthropic`')]
  }
  return value.host === undefined && !value.custom ? [missing('host', '`pathPrefix` needs `host` beside it')] : []
}

function customRules(value: Record<string, unknown>): readonly ObjectProblem[] {
  const custom = value.custom as { backendRef?: unknown; formats: readonly { path?: string }[] } | undefined
  if (!custom) return []
  if (custom.backendRef && value.host !== undefined) {
    return [problem(['host'], '`host` cannot stand beside `custom.backendRef`: both say where the models are')]
  }
  if (!custom.backendRef && value.host === undefined) {
    if (value.port !== undefined) return []
    return [missing('host', 'a custom provider needs `host` and `port`, or `custom.backendRef`')]
  }
  if (!custom.formats.some(({ path }) => path !== undefined)) return []
  return ['path', 'pathPrefix']
    .filter(name => value[name] !== undefined)
    .map(name => problem([name], `\`${name}\` cannot stand beside a \`path\` in \`custom.formats\``))
}

/** A provider and where it is reached: exactly one of the variants. */
export const providerFields = {
  ...variants,
  host: opt(shortString, 'The host, if not the provider’s own.'),
  port: opt(port, 'The port.'),
  path: opt(urlText({ min: 1, max: 1024 }), 'Replaces the path of the provider’s API.'),
  pathPrefix: opt(longString, 'Replaces the base path of the provider’s API.'),
}
export const providerRules = {
  exactlyOneOf: [Object.keys(variants)],
  atMostOneOf: [['path', 'pathPrefix']],
  check: all(addressRules, customRules),
  rules: [
    serverRule('has(self.host) == has(self.port)', 'host and port need one another'),
    serverRule(
      '!has(self.pathPrefix) || has(self.custom) || ((has(self.openai) || has(self.anthropic)) && has(self.host))',
      'pathPrefix is only for openai and anthropic with host, and for custom',
    ),
    serverRule(
      '!has(self.custom) || has(self.custom.backendRef) != has(self.host)',
      'a custom provider needs host and port, or custom.backendRef, and not both',
    ),
    serverRule(
      '!has(self.custom) || !self.custom.formats.exists(f, has(f.path)) || (!has(self.path) && !has(self.pathPrefix))',
      'path and pathPrefix cannot stand beside a path in custom.formats',
    ),
  ],
}
/** The settings that a ProxyModel takes beside the name of its provider. */
export const modelProviderFields = {
  azure: opt(
    object('Azure settings', azureFields, { check: foundryNeedsProject, rules: [FOUNDRY_RULE] }),
    'Settings for Azure.',
  ),
  vertexai: opt(object('Vertex AI settings', vertexFields), 'Settings for VertexAI.'),
  bedrock: opt(object('Bedrock settings', bedrockFields), 'Settings for Bedrock.'),
  custom: opt(object('custom provider settings', customFields), 'Settings for Custom.'),
}

import { modelNameProblem } from '../../llm/model-name.ts'
import { credentialValue } from '../../policies/parts/header-changes.ts'
import { promptCaching } from '../../policies/parts/prompt-caching.ts'
import {
  boolean,
  cel,
  def,
  type Infer,
  integer,
  json,
  list,
  map,
  object,
  oneOf,
  opt,
  parsed,
  regex,
  req,
  type Schema,
  shapes,
  string,
  urlText,
} from '../../schema/builder.ts'
import { withoutSecrets } from '../../schema/conceal-in-url.ts'
import { fileOrInline, headerName, hostPort, parseHostPort, shortString } from '../../schema/scalars.ts'
import { custom } from './providers/custom.ts'
import { PROVIDERS, type ProviderKey } from './providers/index.ts'
import { PRESET_NAMES } from './providers/presets.ts'
import { path } from './schema.ts'

export interface BaseUrl {
  readonly host: string
  readonly port: number
  readonly secure: boolean
  /** No trailing slash; empty for none. */
  readonly prefix: string
}

const baseUrl: Schema<BaseUrl> = parsed(
  urlText({ min: 1, max: 1024 }),
  'a URL such as `https://host:port/v1`',
  value => {
    if (!URL.canParse(value)) return { problem: { message: `\`${withoutSecrets(value)}\` is not a URL` } }
    const { protocol, hostname, port, pathname, username, password, search, hash } = new URL(value)
    const secure = protocol === 'https:'
    if (!secure && protocol !== 'http:')
      return { problem: { message: 'a base URL starts with `http://` or `https://`' } }
    if (username || password) return { problem: { message: 'a base URL holds no user and no password' } }
    if (search || hash) return { problem: { message: 'a base URL has no query and no fragment' } }
    const at = parseHostPort(`${hostname}:${port || (secure ? 443 : 80)}`)
    if (typeof at === 'string') return { problem: { message: at } }
    return { value: { host: at.host, port: at.port, secure, prefix: pathname.replace(/\/+$/, '') } }
  },
  { host: 'localhost', port: 80, secure: false, prefix: '' },
)

const BUILT_IN = (Object.keys(PROVIDERS) as ProviderKey[]).filter(key => key !== 'custom')

const hosted = oneOf([...BUILT_IN, ...PRESET_NAMES], { openai: 'openAI' })
const ownProvider = object('custom provider', { custom: req(custom.settings, custom.doc) })

/** OpenAI's names for the request settings. */
const REQUEST_FIELDS = ['temperature', 'top_p', 'max_tokens', 'max_completion_tokens', 'stop', 'seed', 'stream']

const params = object(
  'model parameters',
  {
    model: opt(shortString, 'Model name sent to the provider; the requested name when unset.'),
    apiKey: opt(fileOrInline({ secret: true }), 'Key sent to the provider instead of the client’s credential.'),
    baseUrl: opt(baseUrl, "Address and base path in place of the provider's own."),
    tokenize: opt(boolean, 'Count input tokens before the call.'),
    awsRegion: opt(string({ min: 1 }), 'Region of an AWS provider; `us-east-1` when unset.'),
    vertexRegion: opt(string({ min: 1 }), 'Region of Vertex AI; the global endpoint when unset.'),
    vertexProject: opt(string({ min: 1 }), 'Google Cloud project; Vertex AI needs it.'),
    azureResourceName: opt(string({ min: 1 }), 'Name of the Azure resource; Azure needs it.'),
    azureResourceType: opt(
      oneOf(['openAI', 'foundry'], { aiServices: 'foundry' }),
      'Kind of the Azure resource; Azure needs it.',
    ),
    azureApiVersion: opt(string({ min: 1 }), 'Azure API version; `v1` when unset.'),
    azureProjectName: opt(string({ min: 1 }), 'Foundry project; named like the resource when unset.'),
    hostOverride: opt(hostPort, 'Address.', { deprecated: 'use `baseUrl`' }),
    pathOverride: opt(path, 'Path of every upstream request.', { deprecated: 'use `baseUrl`' }),
    pathPrefix: opt(path, 'Base path.', { deprecated: 'use `baseUrl`' }),
  },
  {
    instead: Object.fromEntries(
      REQUEST_FIELDS.map(name => [
        name,
        'write it in `defaults` of the model, or in `overrides`, where clients cannot change it',
      ]),
    ),
  },
)
export type ModelParams = Infer<typeof params>

const jsonFields = map(json, { max: 64 })
const computedFields = map(cel('llmRequest', 'any'), { max: 64 })

/** Edits of request bodies, on a model or on the provider entry that it refers to. */
export const bodyFields = {
  defaults: opt(jsonFields, 'Request fields to set unless the client has set them.'),
  overrides: opt(jsonFields, 'Request fields to set, overriding those of the client.'),
  transformation: opt(computedFields, 'Request fields to compute; takes precedence over `overrides`.'),
  promptCaching: opt(promptCaching, 'Cache points for Amazon Bedrock.'),
} as const

const modelName: Schema<string> = parsed(
  string({ min: 1, max: 1024 }),
  'a model name, with one `*` at its start or end at most',
  value => {
    const problem = modelNameProblem(value)
    return problem ? { problem } : { value }
  },
  'model',
)

const headerMatch = object(
  'header match',
  {
    name: req(headerName, 'Header name.'),
    value: req(
      object(
        'header match value',
        { exact: opt(string(), 'The whole value.'), regex: opt(regex(true), 'A pattern for the whole value.') },
        { exactlyOneOf: [['exact', 'regex']] },
      ),
      'What the value must be.',
    ),
  },
  { secretField: credentialValue },
)

/** Maps provider names to the form `provider: {openAI: {…}}` of backends. */
function providerAsKey(): Record<string, string> {
  const { node } = hosted
  const names = node.kind === 'enum' ? [...node.values, ...Object.keys(node.aliases)] : []
  return Object.fromEntries(
    names.map(name => [name, `write \`provider: ${name}\`, and its settings in \`params\` beside it`]),
  )
}

/** The fields of a model, less the policies that other modules declare; the `llm` section adds those. */
export const modelFields = {
  id: opt(string({ min: 1 }), 'Unique key in dumps and logs.'),
  name: req(modelName, 'Name that clients request; `*` matches every model, `gpt-*` all with that prefix.'),
  visibility: def(oneOf(['public', 'internal']), 'public', '`internal`: chosen by virtual models only.'),
  provider: req(
    shapes({
      string: hosted,
      object: object(
        'provider',
        {
          reference: opt(string({ min: 1 }), 'Name of an entry of `providers`.'),
          custom: opt(custom.settings, custom.doc),
        },
        { exactlyOneOf: [['reference', 'custom']], instead: providerAsKey() },
      ),
    }),
    'Provider of the model.',
  ),
  params: opt(params, 'How the provider is called.'),
  passthrough: opt(oneOf(['detect', 'opaque']), 'What happens to requests on paths that are not a known API.'),
  ...bodyFields,
  finalTransformation: opt(computedFields, 'Request fields to compute from the request as sent to the provider.'),
  matches: opt(
    list(object('model match', { headers: def(list(headerMatch), [], 'Header fields that must all match.') }), {
      min: 1,
    }),
    'The model is chosen only for requests that match one of these.',
  ),
} as const
const model = object('model', modelFields)
export type ModelSpec = Infer<typeof model>

export const providerEntryFields = {
  name: req(string({ min: 1 }), 'The name that `provider.reference` of a model refers to.'),
  provider: req(shapes({ string: hosted, object: ownProvider }), 'Provider of the models.'),
  params: opt(params, 'How the provider is called.'),
} as const
const providerEntry = object('provider entry', {
  ...providerEntryFields,
  defaults: opt(object('provider defaults', bodyFields), 'Settings for all models that refer to this entry.'),
})
export type ProviderEntrySpec = Infer<typeof providerEntry>

const target = req(string({ min: 1 }), 'Name of a model of this section.')
const targets = <T>(item: Schema<T>) => req(list(item, { min: 1, max: 64 }), 'Models to choose from.')

const conditionalTarget = object('conditional target', {
  model: target,
  when: opt(cel('llmRequest', 'bool'), 'The first target whose condition is true is chosen.'),
})

export const virtualModel = object('virtual model', {
  name: req(
    string({ min: 1, max: 1024, pattern: /^[^*]*$/, form: 'a name without `*`' }),
    'Name that clients request.',
  ),
  routing: req(
    object(
      'virtual model routing',
      {
        weighted: opt(
          object('weighted routing', {
            targets: targets(
              object('weighted target', {
                model: target,
                weight: def(integer(1, 1_000_000), 1, 'Share of the requests.'),
              }),
            ),
          }),
          'Randomly, in proportion to weights.',
        ),
        failover: opt(
          object('failover routing', {
            targets: targets(
              object('failover target', { model: target, priority: req(integer(0, 1_000_000), 'Lower is preferred.') }),
            ),
          }),
          'By priority: the next one is tried when a call fails.',
        ),
        conditional: opt(
          object(
            'conditional routing',
            { targets: targets(conditionalTarget) },
            { check: ({ targets }) => missingConditions(targets as readonly { readonly when?: unknown }[]) },
          ),
          'By expressions over the request.',
        ),
      },
      { exactlyOneOf: [['weighted', 'failover', 'conditional']] },
    ),
    'How a model is chosen.',
  ),
})
export type VirtualModelSpec = Infer<typeof virtualModel>

function missingConditions(targets: readonly { readonly when?: unknown }[]) {
  return targets.flatMap((each, i) =>
    each.when === undefined && i < targets.length - 1
      ? [
          {
            path: ['targets', i],
            at: 'value' as const,
            message: 'only the last target may have no `when`',
            label: 'the targets below are never reached',
          },
        ]
      : [],
  )
}

/** The input of the model router: the `llm` section without the fields of the listener in front of it. */
export interface LlmSpec {
  readonly providers?: readonly ProviderEntrySpec[]
  readonly models: readonly ModelSpec[]
  readonly virtualModels?: readonly VirtualModelSpec[]
}

/** A model's policies, with their names elsewhere. */
export const MODEL_POLICIES = {
  requestHeaders: 'requestHeaderModifier',
  responseHeaders: 'responseHeaderModifier',
  tls: 'backendTLS',
  auth: 'backendAuth',
  health: 'health',
  backendTunnel: 'backendTunnel',
  guardrails: 'guardrails',
} as const

import { transformationsOf } from '../../policies/ai/cluster/ai.ts'
import { promptGuard } from '../../policies/ai/cluster/guardrails.ts'
import { accessRulesInCluster } from '../../policies/parts/access-rules.ts'
import { headerModifiersInCluster } from '../../policies/parts/header-changes.ts'
import { modelBackendAuth } from '../../policies/upstream/cluster/backend-auth.ts'
import { health, tls, tunnel } from '../../policies/upstream/cluster/connection.ts'
import {
  cel,
  def,
  integer,
  list,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  req,
  serverRule,
  string,
  urlText,
} from '../../schema/builder.ts'
import { parentRef } from '../../schema/resource-references.ts'
import { refName } from '../../schema/resource-scalars.ts'
import { fallbackRule, misplacedFallbacks } from '../../schema/resource-variants.ts'
import { all, missing, problem } from '../../schema/rules.ts'
import { longString } from '../../schema/scalars.ts'
import { baseUrlRules, checkBaseUrl } from './parts/base-url.ts'
import { MODEL_PROVIDERS, MODEL_SETTINGS, modelProviderFields } from './parts/llm-provider.ts'
import { conditions, defineKind } from './resource.ts'

const match = object('model match', {
  model: opt(
    string({
      min: 1,
      max: 1024,
      pattern: /^(\*?[^*]+|[^*]+\*|\*)$/,
      form: 'a model name, with one `*` at the start or the end if wanted',
    }),
    'The model names that clients may request.',
  ),
})

const target = {
  modelRef: req(
    object(
      'model reference',
      { name: req(refName, 'A ProxyModel of this namespace.') },
      { refers: { to: 'model', kind: 'ProxyModel' } },
    ),
    'The model to use.',
  ),
  model: opt(longString, 'The name to request; required when it matches by wildcard.'),
}
const targetsOf = (name: string, fields: Parameters<typeof object>[1]) =>
  list(object(name, { ...target, ...fields }), { min: 1, max: 64 })

const virtualModel = object(
  'virtual model',
  {
    weighted: opt(
      object('weighted routing', {
        targets: req(
          targetsOf('weighted target', { weight: def(integer(1, 1_000_000), 1, 'Its share of the requests.') }),
          'The models to choose from.',
        ),
      }),
      'Chooses randomly.',
    ),
    failover: opt(
      object('failover routing', {
        targets: req(
          targetsOf('failover target', { priority: req(integer(0, 1_000_000), 'Its rank; lower is preferred.') }),
          'The models to choose from.',
        ),
      }),
      'Chooses the highest-ranked healthy model.',
    ),
    conditional: opt(
      object(
        'conditional routing',
        {
          targets: req(
            targetsOf('conditional target', {
              when: opt(cel('llmRequest', 'bool'), 'When it is chosen; only the last one may omit it.'),
            }),
            'The models to choose from, in order.',
          ),
        },
        {
          check: value =>
            misplacedFallbacks(value.targets as readonly Record<string, unknown>[], 'when').map(({ index, message }) =>
              problem(['targets', index], message, { at: 'value' }),
            ),
          rules: [fallbackRule('targets', 'when')],
        },
      ),
      'Chooses by expressions.',
    ),
  },
  { exactlyOneOf: [['weighted', 'failover', 'conditional']] },
)

const policyFields = {
  auth: opt(modelBackendAuth, 'How the gateway authenticates.'),
  authorization: opt(accessRulesInCluster('llmRequest'), 'Decides by expressions who may use the model.'),
  transformations: opt(transformationsOf({ unique: ['field'] }), 'Fields computed by expressions.'),
  finalTransformations: opt(
    transformationsOf({ unique: ['field'] }),
    'Fields computed after the conversion to the provider’s format.',
  ),
  headers: opt(headerModifiersInCluster, 'Changes to header fields.'),
  health: opt(health, 'When the model is considered unhealthy.'),
  promptGuard: opt(promptGuard, 'Guards of requests and responses.'),
  tls: opt(tls, 'TLS to the provider.'),
  tunnel: opt(tunnel, 'A proxy server in front of the provider.'),
}

function providerRules(value: Record<string, unknown>): readonly ObjectProblem[] {
  const problems: ObjectProblem[] = []
  for (const { member: field, name: provider } of MODEL_SETTINGS) {
    if (value[field] !== undefined && value.provider !== provider) {
      problems.push(problem([field], `\`${field}\` goes only with \`provider: ${provider}\``))
    } else if (value[field] === undefined && value.provider === provider) {
      problems.push(missing(field, `\`provider: ${provider}\` needs \`${field}\``))
    }
  }
  if (value.baseURL === undefined && value.provider === 'Ollama') {
    problems.push(missing('baseURL', '`provider: Ollama` needs `baseURL`'))
  }
  if (value.baseURL !== undefined && value.provider === undefined) {
    problems.push(problem(['baseURL'], '`baseURL` goes only with `provider`'))
  }
  return problems
}

const PROVIDER_RULES = [
  ...MODEL_SETTINGS.map(({ member: field, name: provider }) =>
    serverRule(
      `has(self.${field}) == (has(self.provider) && self.provider == '${provider}')`,
      `${field} goes with provider ${provider}, and only with it`,
    ),
  ),
  serverRule("!has(self.provider) || self.provider != 'Ollama' || has(self.baseURL)", 'provider Ollama needs baseURL'),
  serverRule('!has(self.baseURL) || has(self.provider)', 'baseURL goes only with provider'),
]

const VIRTUAL_RULES = [
  serverRule('!has(self.virtualModel) || !has(self.policies)', 'a virtual model has no policies'),
  serverRule("!has(self.virtualModel) || self.visibility != 'Internal'", 'a virtual model cannot be Internal'),
  serverRule(
    "!has(self.virtualModel) || !has(self.match) || !has(self.match.model) || !self.match.model.contains('*')",
    'a virtual model has one exact name',
  ),
]
function virtualRules(value: Record<string, unknown>): readonly ObjectProblem[] {
  if (!value.virtualModel) return []
  const problems: ObjectProblem[] = []
  if (value.policies) problems.push(problem(['policies'], 'a virtual model has no `policies`: set them on its targets'))
  if (value.visibility === 'Internal') {
    problems.push(
      problem(['visibility'], 'a virtual model cannot be Internal: nothing could select it', { at: 'value' }),
    )
  }
  const name = (value.match as { model?: string } | undefined)?.model
  if (name?.includes('*')) {
    problems.push(problem(['match', 'model'], 'a virtual model has one exact name, without `*`', { at: 'value' }))
  }
  return problems
}

const spec = object(
  'model',
  {
    parentRefs: req(list(parentRef, { min: 1, max: 16 }), 'The Gateways and listeners that serve the model.'),
    match: opt(match, 'Model names that select this model; its own name when unset.'),
    visibility: def(oneOf(['Public', 'Internal']), 'Public', 'Whether clients may request it and see it listed.'),
    provider: opt(oneOf([...MODEL_PROVIDERS.keys()]), 'The service that runs the model.'),
    ...modelProviderFields,
    baseURL: opt(
      urlText({ min: 1, max: 1024, pattern: /^https?:\/\/[^/]/, form: 'a URL starting with `http://` or `https://`' }),
      'Replaces the provider’s address and base path.',
    ),
    policies: opt(
      object('model policies', policyFields, { atLeastOneOf: [Object.keys(policyFields)] }),
      'How the model is called.',
    ),
    virtualModel: opt(virtualModel, 'Chooses among other models.'),
  },
  {
    exactlyOneOf: [['provider', 'virtualModel']],
    check: all(providerRules, virtualRules, checkBaseUrl),
    rules: [...PROVIDER_RULES, ...VIRTUAL_RULES, ...baseUrlRules],
  },
)

const parentStatus = object('model parent status', {
  parentRef: req(parentRef, 'The parent.'),
  controllerName: req(string({ min: 1, max: 253 }), 'Controller that wrote the status.'),
  conditions: req(conditions(), 'The conditions.'),
})

export const proxyModel = defineKind(
  {
    kind: 'ProxyModel',
    group: 'agentgateway.dev',
    versions: ['v1alpha1'],
    own: {
      alias: 'AgentgatewayModel',
      aliasGroup: 'agentgateway.dev',
      short: 'pxmodel',
      aliasShort: 'agmodel',
      columns: [{ name: 'Model Match', type: 'string', jsonPath: '.spec.match.model' }],
      attaches: false,
    },
    namespaced: true,
  },
  {
    spec: req(spec, 'Which model it is and where it runs.'),
    status: opt(
      object('model status', { parents: opt(list(parentStatus, { max: 16 }), 'The status for each parent.') }),
      'Written by the controller.',
    ),
  },
)

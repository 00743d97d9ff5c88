import {
  bodyFields,
  MODEL_POLICIES,
  modelFields,
  providerEntryFields,
  virtualModel,
} from '../../backends/ai/llm-schema.ts'
import type { Path } from '../../diagnostics/diagnostic.ts'
import { promptGuard } from '../../policies/external/prompt-guard.ts'
import { backendPolicyFields, listenerPolicyFields, routePolicyFields } from '../../policies/index.ts'
import { type Infer, list, object, opt, req } from '../../schema/builder.ts'
import { port } from '../../schema/scalars.ts'
import { tlsSection } from './listener-section.ts'
import { gatewayRefs } from './route-section.ts'

/** Policies for calls to a provider, by their names in this section. */
const callPolicies = {
  requestHeaders: backendPolicyFields.requestHeaderModifier,
  responseHeaders: backendPolicyFields.responseHeaderModifier,
  tls: { ...backendPolicyFields.backendTLS, aliases: ['backendTLS'] },
  auth: backendPolicyFields.backendAuth,
  health: backendPolicyFields.health,
  backendTunnel: backendPolicyFields.backendTunnel,
} as const

const model = object('model', {
  ...modelFields,
  ...callPolicies,
  authorization: backendPolicyFields.authorization,
  guardrails: opt(promptGuard, 'Guards on requests and replies of this model.'),
})

const provider = object('provider entry', {
  ...providerEntryFields,
  defaults: opt(
    object('provider defaults', { ...bodyFields, ...callPolicies }),
    'Settings for all models that refer to this entry.',
  ),
})

const llmPolicies = object('LLM policies', {
  ...listenerPolicyFields,
  localRateLimit: routePolicyFields.localRateLimit,
  remoteRateLimit: routePolicyFields.remoteRateLimit,
  guardrails: opt(promptGuard, 'Guards on requests and replies of all models.'),
})

/** `llm`: models by name behind the APIs that LLM clients speak. */
export const llmSection = object('LLM section', {
  gateways: opt(gatewayRefs, 'Gateways (`gw`) or listeners (`gw/listener`) that serve the models.'),
  port: opt(port, 'Its own port; 4000 when unset and no gateway is named `default`.'),
  tls: opt(tlsSection, 'Certificates for that port.'),
  providers: opt(list(provider, { isolate: true }), 'Providers that several models refer to.'),
  models: req(list(model, { isolate: true }), 'Models, by the names that clients request.'),
  virtualModels: opt(list(virtualModel, { isolate: true }), 'Names that select among several models.'),
  policies: opt(llmPolicies, 'Policies for all requests of the section.'),
  guardrails: opt(promptGuard, 'Guards on requests and replies of all models.'),
})
export type LlmSection = Infer<typeof llmSection>

/**
 * The policies by name for calls to a model (`['models', 0]`, with those of the provider entry that it refers to), for
 * its use (`['models', 0, 'authorization']`), and the guards of all models (`[]`, `['policies']`): the paths that
 * `compileLlmSection` looks up in its context.
 */
export function llmPolicySpecs(section: LlmSection, path: Path): Readonly<Record<string, unknown>> | undefined {
  const [list, index, part] = path
  if (list === undefined) return section.guardrails && { guardrails: section.guardrails }
  if (list === 'policies') return section.policies?.guardrails && { guardrails: section.policies.guardrails }
  const spec = list === 'models' ? section.models[Number(index)] : undefined
  if (spec === undefined) return undefined
  if (part === 'authorization') return spec.authorization && { authorization: spec.authorization }
  const reference = typeof spec.provider === 'string' ? undefined : spec.provider.reference
  const entry = reference === undefined ? undefined : section.providers?.find(each => each.name === reference)
  const specs = { ...callSpecs(entry?.defaults), ...callSpecs(spec) }
  return Object.keys(specs).length === 0 ? undefined : specs
}

/** The field of a model that holds a policy. */
export function llmPolicyField(policy: string): string {
  return Object.entries(MODEL_POLICIES).find(([, name]) => name === policy)?.[0] ?? policy
}

function callSpecs(holder: object | undefined): Record<string, unknown> {
  const given = Object.entries(MODEL_POLICIES).map(([field, policy]) => [
    policy,
    (holder as Readonly<Record<string, unknown>> | undefined)?.[field],
  ])
  return Object.fromEntries(given.filter(([, spec]) => spec !== undefined))
}

// Policies on LLM requests and responses (specification, BackendAI and Guardrails).
import { LlmPolicy } from '../llm/llm-policy.ts'
import { ROUTE_TYPES } from '../llm/route-type.ts'
import { cel, json, list, map, object, oneOf, opt, req, string } from '../schema/builder.ts'
import { aiInCluster } from './ai/cluster/ai.ts'
import { convertAi } from './ai/cluster/convert-ai.ts'
import { compileGuards } from './ai/guards/compile-guards.ts'
import { promptGuard } from './external/prompt-guard.ts'
import { promptCaching } from './parts/prompt-caching.ts'
import { definePolicy } from './policy.ts'

const prompt = object('prompt', {
  role: req(string({ min: 1 }), 'Role of the message.'),
  content: req(string(), 'Text of the message.'),
})

/** Messages added to each request. */
const prompts = object('prompts', {
  append: opt(list(prompt), 'Messages after those of the client.'),
  prepend: opt(list(prompt), 'Messages before those of the client.'),
})

/** Fields of the request body: name to value. */
const bodyFields = map(json, { max: 64 })
/** Fields of the request body: name to expression. */
const bodyExpressions = map(cel('llmRequest', 'any'), { max: 64 })

export const ai = definePolicy({
  name: 'ai',
  doc: 'Guards, defaults, prompts and routes of LLM requests.',
  spec: 'BackendAI',
  attach: ['route', 'backend', 'provider'],
  perBackend: true,
  reachesParts: true,
  schema: object('AI policy', {
    promptGuard: opt(promptGuard, 'Guards on requests and replies.'),
    defaults: opt(bodyFields, 'Values for fields that the request lacks.'),
    overrides: opt(bodyFields, 'Values that replace those of the request.'),
    transformations: opt(bodyExpressions, 'Fields computed from the request.'),
    finalTransformations: opt(bodyExpressions, 'Fields computed from the request as sent to the provider.'),
    prompts: opt(prompts, 'Messages to add.', { aliases: ['promptEnrichment'] }),
    modelAliases: opt(map(string({ min: 1 }), { max: 64 }), 'Model name in the request to model name at the provider.'),
    promptCaching: opt(promptCaching, 'Cache points for Amazon Bedrock.'),
    routes: opt(map(oneOf(ROUTE_TYPES)), 'Path suffix, or `*`, to request kind; completions when unset.'),
  }),
  cluster: [
    {
      section: 'backend',
      on: 'provider',
      member: 'ai',
      field: opt(aiInCluster, 'LLM policies; for AI backends.'),
      convert: convertAi,
    },
  ],
  guards: ['promptGuard'],
  merge: (wide, narrow) => ({ ...wide, ...narrow }),
  compile(spec, ctx) {
    const guards = spec.promptGuard && [compileGuards(spec.promptGuard, ctx, ['promptGuard'])]
    return { upstream: { llm: new LlmPolicy(spec), ...(guards ? { guards } : {}) } }
  },
})

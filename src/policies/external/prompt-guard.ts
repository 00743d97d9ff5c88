import { isFieldName } from '../../http/field-value.ts'
import {
  boolean,
  def,
  integer,
  list,
  object,
  oneOf,
  opt,
  type Problem,
  parsed,
  regex,
  req,
  type Schema,
  string,
} from '../../schema/builder.ts'
import { type HttpAddress, headerName, parseHostPort, statusCode } from '../../schema/scalars.ts'
import { credentialValue, headerChanges } from '../parts/header-changes.ts'
import { headerExpressions } from '../parts/header-expressions.ts'
import { policyTarget, targetPoliciesField } from '../upstream/policy-target.ts'

const name = string({ min: 1, max: 256 })

const BUILTIN_ALIASES = {
  Ssn: 'ssn',
  CreditCard: 'creditCard',
  PhoneNumber: 'phoneNumber',
  Email: 'email',
  CaSin: 'caSin',
} as const
const builtin = oneOf(['ssn', 'creditCard', 'phoneNumber', 'email', 'caSin'], BUILTIN_ALIASES)

const regexGuard = object('regex guard', {
  action: def(oneOf(['mask', 'reject'], { Mask: 'mask', Reject: 'reject' }), 'mask', 'What happens to a match.'),
  rules: req(
    list(
      object(
        'regex rule',
        {
          builtin: opt(builtin, 'A built-in kind of data.'),
          pattern: opt(regex(false), 'A custom pattern.'),
          name: opt(name, 'Name of the pattern.'),
        },
        { exactlyOneOf: [['builtin', 'pattern']] },
      ),
    ),
    'What to look for.',
  ),
})

/** Pseudo-headers, which the configuration may not set. */
const PSEUDO = [':path', ':method', ':authority']

function headerOfCall(name: string): Problem | undefined {
  if (PSEUDO.includes(name) || (isFieldName(name) && name.length <= 256)) return undefined
  return { message: `\`${name}\` is not a header name`, help: `write a name, or one of ${PSEUDO.join(', ')}` }
}

/** A host, optionally with a scheme and a port. */
const serviceHost: Schema<HttpAddress> = parsed(
  string({ min: 1, max: 1024 }),
  'a host such as `name.cognitiveservices.azure.com`',
  value => {
    const [, scheme = 'https', host = '', port] = /^(?:(https?):\/\/)?([^/:?#@]+)(?::(\d{1,5}))?\/?$/i.exec(value) ?? []
    const at = parseHostPort(`${host}:${port ?? (scheme.toLowerCase() === 'http' ? 80 : 443)}`)
    if (host === '' || typeof at === 'string') return { problem: { message: `\`${value}\` is not a host` } }
    return { value: { ...at, scheme: scheme.toLowerCase() === 'http' ? 'http' : 'https' } }
  },
  { scheme: 'https', host: 'name.cognitiveservices.azure.com', port: 443 },
)

const webhook = object('webhook guard', {
  target: req(policyTarget, 'The service to call.'),
  headers: opt(
    headerExpressions('llmRequest', 'string', { keys: headerOfCall }),
    'Header fields of the call: name, or `:path`, to expression.',
  ),
  forwardHeaderMatches: opt(
    list(
      object(
        'header match',
        {
          name: req(headerName, 'Header name.'),
          value: opt(
            object(
              'header value match',
              { exact: opt(string(), 'The whole value.'), regex: opt(regex(true), 'A pattern for the whole value.') },
              { exactlyOneOf: [['exact', 'regex']] },
            ),
            'What its value must be; anything when unset.',
          ),
        },
        { secretField: credentialValue },
      ),
    ),
    'Client header fields to forward.',
  ),
  failureMode: def(
    oneOf(['failClosed', 'failOpen'], { FailClosed: 'failClosed', FailOpen: 'failOpen' }),
    'failClosed',
    'What happens when the service is unavailable.',
  ),
  action: opt(oneOf(['audit']), '`audit`: findings of the service are recorded, and nothing is changed.'),
})

const openAIModeration = object('OpenAI moderation', {
  model: def(name, 'omni-moderation-latest', 'Moderation model.'),
  policies: targetPoliciesField,
})
const bedrockGuardrails = object('Bedrock guardrail', {
  guardrailIdentifier: req(name, 'Guardrail.'),
  guardrailVersion: req(name, 'Its version.'),
  region: req(name, 'AWS region.'),
  policies: targetPoliciesField,
})
const googleModelArmor = object('Model Armor', {
  templateId: req(name, 'Template.'),
  projectId: req(name, 'Project.'),
  location: def(name, 'us-central1', 'Location.'),
  policies: targetPoliciesField,
})
const azureContentSafety = object('Azure content safety', {
  endpoint: req(serviceHost, 'Host of the service; HTTPS unless it starts with `http://`.'),
  policies: targetPoliciesField,
  analyzeText: opt(
    object('text analysis', {
      severityThreshold: opt(integer(0, 7), 'Lowest severity at which content is refused; 2 when unset.'),
      apiVersion: opt(name, 'API version.'),
      blocklistNames: opt(list(name), 'Block lists to apply.'),
      haltOnBlocklistHit: opt(boolean, 'Stops at the first block list hit.'),
    }),
    'Looks for harmful content.',
  ),
  detectJailbreak: opt(
    object('jailbreak detection', { apiVersion: opt(name, 'API version.') }),
    'Looks for attacks on the prompt.',
  ),
})

const rejection = object('rejection', {
  body: opt(string(), 'Body of the refusal.'),
  status: def(statusCode(), 403, 'Status of the refusal.'),
  headers: opt(headerChanges, 'Header fields of the refusal.'),
})

const responseKinds = {
  regex: opt(regexGuard, 'Looks for patterns.'),
  webhook: opt(webhook, 'Calls a custom service.'),
  bedrockGuardrails: opt(bedrockGuardrails, 'Calls AWS Bedrock.'),
  googleModelArmor: opt(googleModelArmor, 'Calls Google Model Armor.'),
  azureContentSafety: opt(azureContentSafety, 'Calls Azure Content Safety.'),
}
const requestKinds = {
  ...responseKinds,
  openAIModeration: opt(openAIModeration, 'Calls OpenAI’s moderation.'),
}
export const GUARD_KINDS: readonly string[] = Object.keys(requestKinds)

const SCOPES = ['systemPrompt', 'messages', 'toolOutput', 'toolInput'] as const
const responseGuard = object(
  'response guard',
  {
    ...responseKinds,
    rejection: opt(rejection, 'The reply when the guard refuses.'),
    scope: opt(
      list(oneOf(['messages', 'toolInput']), { min: 1 }),
      'Parts of the reply to inspect: the text of the model, and the arguments of its tool calls; `messages` when unset.',
    ),
  },
  { exactlyOneOf: [Object.keys(responseKinds)] },
)
const requestGuard = object(
  'request guard',
  {
    ...requestKinds,
    rejection: opt(rejection, 'The reply when the guard refuses.'),
    scope: opt(
      list(oneOf(SCOPES), { min: 1 }),
      'Parts of the request to inspect; `systemPrompt` and `messages` when unset.',
    ),
  },
  { exactlyOneOf: [Object.keys(requestKinds)], check: checkScope },
)

/** Guards that support `scope`; the others do not receive tool calls. */
const SCOPED = ['regex', 'bedrockGuardrails']

function checkScope(value: Record<string, unknown>) {
  const scope = value.scope as readonly string[] | undefined
  const usual = scope === undefined || scope.every(each => each === 'systemPrompt' || each === 'messages')
  if (usual || SCOPED.some(name => value[name] !== undefined)) return []
  return [
    {
      path: ['scope'],
      at: 'value' as const,
      message: 'only `regex` and `bedrockGuardrails` look at calls of tools and their results',
      help: 'leave `toolInput` and `toolOutput` out',
    },
  ]
}

/** Guards on LLM requests and responses: `promptGuard` of the AI policy, `guardrails` in the `llm` section. */
export const promptGuard = object('prompt guard', {
  streaming: def(
    oneOf(['Disabled', 'Enabled'], { disabled: 'Disabled', enabled: 'Enabled' }),
    'Disabled',
    'Whether streamed replies are guarded too.',
  ),
  request: opt(list(requestGuard, { max: 8 }), 'Guards on requests, in order.'),
  response: opt(list(responseGuard, { max: 8 }), 'Guards on replies, in order.'),
})

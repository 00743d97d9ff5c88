import {
  type CelScope,
  def,
  list,
  object,
  oneOf,
  opt,
  req,
  type Schema,
  serverRule,
  shapes,
  string,
} from '../../../schema/builder.ts'
import { backendRef } from '../../../schema/resource-references.ts'
import { plainHeaderName, set } from '../../../schema/resource-scalars.ts'
import { problem } from '../../../schema/rules.ts'
import { longString, shortString, statusCode } from '../../../schema/scalars.ts'
import { credentialValue } from '../../parts/header-changes.ts'
import { headerExpressions } from '../../parts/header-expressions.ts'
import { bedrockGuardrailsAuth, gcpOnlyAuth, keyAuth } from '../../upstream/cluster/backend-auth.ts'
import { connectionFields } from '../../upstream/cluster/connection.ts'

type Direction = 'request' | 'response'

function customResponse(direction: Direction) {
  return object('custom response', {
    message: def(string(), `The ${direction} was rejected due to inappropriate content`, 'The body.'),
    statusCode: def(statusCode(), 403, 'The status.'),
  })
}

const patternEntry = shapes({
  string: longString,
  object: object('pattern', {
    name: opt(shortString, 'What the pattern finds.'),
    pattern: req(longString, 'The regular expression.'),
  }),
})
const regexGuard = object('regex guard', {
  matches: opt(list(patternEntry), 'Patterns to look for.'),
  builtins: opt(list(oneOf(['Ssn', 'CreditCard', 'PhoneNumber', 'Email', 'CaSin'])), 'Built-in patterns to look for.'),
  action: def(oneOf(['Mask', 'Reject']), 'Mask', 'What happens to a match; responses are always masked.'),
})

const headerMatch = object(
  'header match',
  {
    name: req(plainHeaderName, 'The name of the header field.'),
    value: req(string({ min: 1, max: 4096 }), 'Its value, or a pattern.'),
    type: def(oneOf(['Exact', 'RegularExpression']), 'Exact', 'How the value is compared.'),
  },
  { secretField: credentialValue },
)
function webhook(scope: CelScope) {
  return object('webhook guard', {
    backendRef: req(backendRef, 'The service to call.'),
    failureMode: def(oneOf(['FailClosed', 'FailOpen']), 'FailClosed', 'What happens when it cannot be reached.'),
    headers: opt(headerExpressions(scope, 'any'), 'Header fields of the call: name to expression.'),
    forwardHeaderMatches: opt(list(headerMatch), 'Client header fields to forward.'),
  })
}

function servicePolicies(auth: Schema<unknown>) {
  return object(
    'guardrail policies',
    { ...connectionFields, auth: opt(auth, 'How the gateway authenticates.') },
    { atLeastOneOf: [[...Object.keys(connectionFields), 'auth']] },
  )
}
const moderation = object('moderation guard', {
  model: opt(string(), 'The moderation model.'),
  policies: opt(servicePolicies(keyAuth), 'How the service is reached.'),
})
const bedrockGuardrails = object('cloud guardrail', {
  identifier: req(shortString, 'The guardrail.'),
  version: req(shortString, 'Its version.'),
  region: req(shortString, 'Its region.'),
  policies: opt(servicePolicies(bedrockGuardrailsAuth), 'How the service is reached.'),
})
const modelArmor = object('model armor guard', {
  templateId: req(shortString, 'The template.'),
  projectId: req(shortString, 'The project.'),
  location: def(shortString, 'us-central1', 'Its location.'),
  policies: opt(servicePolicies(gcpOnlyAuth), 'How the service is reached.'),
})

const SCOPED = ['regex', 'bedrockGuardrails']
const requestGuard = object(
  'request guard',
  {
    regex: opt(regexGuard, 'Patterns in the text.'),
    webhook: opt(webhook('llmRequest'), 'A custom service.'),
    openAIModeration: opt(moderation, 'A moderation service.'),
    bedrockGuardrails: opt(bedrockGuardrails, 'A cloud guardrail service.'),
    googleModelArmor: opt(modelArmor, 'A cloud guardrail service.'),
    response: opt(customResponse('request'), 'Response to the client when the guard rejects.'),
    scope: opt(
      set(oneOf(['SystemPrompt', 'Messages', 'ToolOutput', 'ToolInput']), { min: 1, max: 4 }),
      'Parts of the request to inspect.',
    ),
  },
  {
    exactlyOneOf: [['regex', 'webhook', 'openAIModeration', 'bedrockGuardrails', 'googleModelArmor']],
    check: value => {
      const scope = value.scope as readonly string[] | undefined
      if (scope === undefined || SCOPED.some(name => value[name] !== undefined)) return []
      const usual = scope.length === 2 && scope.includes('SystemPrompt') && scope.includes('Messages')
      return usual
        ? []
        : [problem(['scope'], 'only `regex` and `bedrockGuardrails` take a scope other than SystemPrompt and Messages')]
    },
    rules: [
      serverRule(
        `!has(self.scope) || ${SCOPED.map(name => `has(self.${name})`).join(' || ')} || (self.scope.size() == 2 && 'SystemPrompt' in self.scope && 'Messages' in self.scope)`,
        `only ${SCOPED.join(' and ')} take a scope other than SystemPrompt and Messages`,
      ),
    ],
  },
)
const responseGuard = object(
  'response guard',
  {
    regex: opt(regexGuard, 'Patterns in the text.'),
    webhook: opt(webhook('request'), 'A custom service.'),
    bedrockGuardrails: opt(bedrockGuardrails, 'A cloud guardrail service.'),
    googleModelArmor: opt(modelArmor, 'A cloud guardrail service.'),
    response: opt(customResponse('response'), 'Response to the client when the guard rejects.'),
  },
  { exactlyOneOf: [['regex', 'webhook', 'bedrockGuardrails', 'googleModelArmor']] },
)

export const promptGuard = object(
  'prompt guard',
  {
    streaming: opt(oneOf(['Enabled']), 'Guards streamed responses and realtime messages too.'),
    request: opt(list(requestGuard, { min: 1, max: 8 }), 'Guards of requests, in order.'),
    response: opt(list(responseGuard, { min: 1, max: 8 }), 'Guards of responses, in order.'),
  },
  { atLeastOneOf: [['request', 'response']] },
)

import {
  cel,
  def,
  json,
  list,
  map,
  object,
  oneOf,
  opt,
  type Problem,
  req,
  serverRule,
  string,
} from '../../../schema/builder.ts'
import { pseudoHeaderName, resourceDuration, set } from '../../../schema/resource-scalars.ts'
import { shortString } from '../../../schema/scalars.ts'
import { authorization } from './backend-sections.ts'
import { endpoint, remoteKeySet, secretRef } from './object-references.ts'

export const IDENTITY_PROVIDERS = ['Auth0', 'Keycloak', 'Okta', 'Descope', 'Authentik', 'Entra'] as const
export const AUTH_MODES = ['Strict', 'Optional', 'Permissive'] as const
/** Key sets are not asked for more often than every five minutes. */
export const keySetCache = def(resourceDuration(300_000), '5m', 'How long the key set is kept.')

const authentication = object('MCP authentication', {
  resourceMetadata: opt(map(json), 'What the protected resource says about itself.'),
  provider: opt(oneOf(IDENTITY_PROVIDERS), 'The identity provider, if it needs help to follow the protocol.'),
  issuer: opt(shortString, 'The `iss` claim.'),
  audiences: opt(list(shortString, { min: 1, max: 64 }), 'Accepted `aud` claims; any when unset.'),
  jwks: req(remoteKeySet(keySetCache), 'The keys that sign tokens.'),
  mode: def(oneOf(AUTH_MODES), 'Strict', 'What happens without a valid token.'),
  clientId: opt(string(), 'The client that registrations are answered with.'),
  clientSecretRef: opt(secretRef({ key: 'clientSecret' }), 'A Secret with the secret of that client.'),
})

function methodPattern(pattern: string): Problem | undefined {
  const star = pattern.indexOf('*')
  if (
    pattern.length > 0 &&
    (star < 0 || (star === pattern.lastIndexOf('*') && (star === 0 || star === pattern.length - 1)))
  ) {
    return undefined
  }
  return {
    message: `\`${pattern}\` is not a method pattern`,
    help: 'write a method, `prefix/*`, `*/suffix` or `*`',
  }
}

const METHOD_RULES = [
  serverRule(
    "self.all(m, m != '' && (!m.contains('*') || (m.indexOf('*') == m.lastIndexOf('*') && (m.startsWith('*') || m.endsWith('*')))))",
    'a method pattern has one * at most, at its start or end',
  ),
]

const server = endpoint({ urlPath: false, what: 'The guardrail service' })
const headerNames = set(pseudoHeaderName, { max: 64 })
const processor = object(
  'MCP guardrail processor',
  {
    remote: opt(
      object(
        'remote MCP guardrail',
        {
          ...server.fields,
          failureMode: def(oneOf(['FailClosed', 'FailOpen']), 'FailClosed', 'What happens when it cannot be asked.'),
          metadata: opt(map(cel('mcp', 'any'), { max: 64 }), 'Sent along: name to expression.'),
          allowedRequestHeaders: opt(headerNames, 'Header fields sent along; all when empty.'),
          disallowedRequestHeaders: opt(headerNames, 'Header fields never sent along.'),
        },
        { exactlyOneOf: [server.group] },
      ),
      'A service that is asked.',
    ),
    methods: req(
      map(oneOf(['Off', 'Request', 'Response', 'Full']), { min: 1, max: 64, keys: methodPattern, rules: METHOD_RULES }),
      'Method or pattern to the phase in which the service is asked.',
    ),
  },
  { exactlyOneOf: [['remote']] },
)

const fields = {
  authentication: opt(authentication, 'OAuth as MCP prescribes it.'),
  authorization: opt(authorization('mcp'), 'Which tools, prompts and resources a client may see and use.'),
  guardrails: opt(
    object('MCP guardrails', {
      processors: req(list(processor, { min: 1, max: 16 }), 'Services that see the messages, in order.'),
    }),
    'Guards of MCP messages.',
  ),
}
/** MCP policies of a backend. */
export const mcpPolicies = object('MCP policies', fields, { atLeastOneOf: [Object.keys(fields)] })

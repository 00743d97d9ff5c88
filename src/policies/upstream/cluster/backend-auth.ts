import { SIGNING_ALGORITHMS } from '../../../auth/signing-algorithms.ts'
import {
  cel,
  json,
  list,
  map,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  req,
  type Schema,
  secret,
  serverRule,
  string,
} from '../../../schema/builder.ts'
import { credentialLocation, secretRef } from '../../../schema/resource-references.ts'
import { empty, resourceDuration } from '../../../schema/resource-scalars.ts'
import { problem } from '../../../schema/rules.ts'
import { shortString } from '../../../schema/scalars.ts'
import { ownClaim } from '../backend-auth-schema.ts'
import { crossAppAccess, tokenExchange } from './token-exchange.ts'

/** An inline credential. */
const inlineKey = secret({ min: 0, max: 2048 })

const ROLE_ARN = /^arn:aws[a-z-]*:iam::[0-9]{12}:role\/.+$/
const sessionTag = object(
  'session tag',
  {
    key: req(string({ min: 1, max: 128 }), 'The name of the tag.'),
    value: opt(string({ max: 256 }), 'Its value.'),
    expression: opt(cel('request', 'string'), 'An expression that gives its value.'),
  },
  { exactlyOneOf: [['value', 'expression']] },
)
const assumedRole = object(
  'assumed role',
  {
    roleArn: req(string({ pattern: ROLE_ARN, form: 'the ARN of an IAM role' }), 'The role.'),
    sessionName: opt(
      string({ pattern: /^[\w+=,.@-]{2,64}$/, form: '2 to 64 letters, digits and `+=,.@-_`' }),
      'The name of the session.',
    ),
    sessionNameExpression: opt(cel('request', 'string'), 'An expression that gives the name of the session.'),
    tags: opt(list(sessionTag, { max: 50, unique: ['key'] }), 'Tags of the session.'),
  },
  { atMostOneOf: [['sessionName', 'sessionNameExpression']] },
)
const awsAuth = object(
  'AWS auth',
  {
    secretRef: opt(
      secretRef({ keys: [['accessKey'], ['secretKey']] }),
      'A Secret with `accessKey`, `secretKey` and optionally `sessionToken`; the environment is searched when unset.',
    ),
    assumeRole: opt(assumedRole, 'A role to assume.'),
    serviceName: opt(shortString, 'The service that requests are signed for.'),
    region: opt(shortString, 'The region that requests are signed for.'),
  },
  { atMostOneOf: [['secretRef', 'assumeRole']] },
)

const managedIdentity = object(
  'managed identity',
  {
    clientId: opt(string(), 'By client.'),
    objectId: opt(string(), 'By object.'),
    resourceId: opt(string(), 'By resource.'),
  },
  { atMostOneOf: [['clientId', 'objectId', 'resourceId']] },
)
const azureAuth = object(
  'Azure auth',
  {
    secretRef: opt(
      secretRef({
        keys: [['clientId', 'clientID'], ['tenantId', 'tenantID'], ['clientSecret']],
      }),
      'A Secret with `clientId`, `tenantId` and `clientSecret`.',
    ),
    managedIdentity: opt(managedIdentity, 'A managed identity.'),
    workloadIdentity: opt(empty('workload identity'), 'The identity of the workload.'),
  },
  { atMostOneOf: [['secretRef', 'managedIdentity', 'workloadIdentity']] },
)
const gcpAuth = object(
  'Google auth',
  {
    type: opt(oneOf(['AccessToken', 'IdToken']), 'The type of token.'),
    audience: opt(shortString, 'Audience of the ID token.'),
    secretRef: opt(
      secretRef({ key: 'credentials.json' }),
      'A Secret with a service account key; the environment is searched when unset.',
    ),
  },
  {
    check: value =>
      value.audience !== undefined && value.type !== 'IdToken'
        ? [problem(['audience'], '`audience` goes only with `type: IdToken`')]
        : [],
    rules: [
      serverRule(
        "!has(self.audience) || (has(self.type) && self.type == 'IdToken')",
        'audience goes only with type IdToken',
      ),
    ],
  },
)
const jwtSign = object('JWT signing', {
  signingKeyRef: req(secretRef({ key: 'signingKey' }), 'A Secret with the private key.'),
  alg: opt(oneOf(SIGNING_ALGORITHMS), 'The algorithm; `RS256` when unset.'),
  kid: opt(string({ min: 1 }), 'The key identifier.'),
  claims: opt(map(json, { keys: ownClaim }), 'Claims of the token.'),
  ttl: opt(resourceDuration(1000), 'How long a token is valid.'),
  location: opt(credentialLocation, 'Where the token is written.'),
})

const kinds = {
  key: opt(inlineKey, 'The credential itself; prefer `secretRef`.'),
  secretRef: opt(secretRef({ key: 'Authorization' }), 'A Secret that holds the credential.'),
  passthrough: opt(empty('passthrough'), 'Forwards the client’s credential that a policy has verified and removed.'),
  aws: opt(awsAuth, 'Signs requests for AWS.'),
  azure: opt(azureAuth, 'Azure tokens.'),
  gcp: opt(gcpAuth, 'Google tokens.'),
  oauthTokenExchange: opt(tokenExchange, 'Exchanges the client’s token for another one.'),
}
const extra = object('extra credential', {
  secretRef: req(secretRef({ key: 'Authorization' }), 'A Secret that holds the credential.'),
  location: req(credentialLocation, 'Where it is written.'),
})
const common = {
  location: opt(
    credentialLocation,
    'Where `key`, `secretRef` or `passthrough` is written; `Authorization: Bearer` when unset.',
  ),
  credentials: opt(list(extra, { min: 1, max: 8 }), 'Further credentials, each with its own location.'),
}

const LOCATED = ['key', 'secretRef', 'passthrough']
/** `location` applies to the plain credentials only; the others define their own. */
function locationHasCredential(value: Record<string, unknown>): readonly ObjectProblem[] {
  return value.location !== undefined && !LOCATED.some(name => value[name] !== undefined)
    ? [problem(['location'], '`location` goes only with `key`, `secretRef` or `passthrough`')]
    : []
}

const LOCATION_RULES = [
  serverRule(
    '!has(self.location) || has(self.key) || has(self.secretRef) || has(self.passthrough)',
    'location goes only with key, secretRef or passthrough',
  ),
]

function authOf(extraKinds: Readonly<Record<string, ReturnType<typeof opt>>>): Schema<unknown> {
  const names = [...Object.keys(kinds), ...Object.keys(extraKinds)]
  return object(
    'backend auth',
    { ...kinds, ...extraKinds, ...common },
    {
      atMostOneOf: [names],
      atLeastOneOf: [[...names, 'credentials']],
      check: locationHasCredential,
      rules: LOCATION_RULES,
    },
  )
}

/** How the gateway authenticates to a backend. */
export const backendAuth = authOf({
  crossAppAccess: opt(crossAppAccess, 'An identity assertion grant, exchanged at another application’s server.'),
  jwtSign: opt(jwtSign, 'A token that the gateway signs.'),
})
export const modelBackendAuth = authOf({})

/** The narrower forms for guardrail services. */
export const keyAuth = object(
  'guardrail auth',
  {
    key: kinds.key,
    secretRef: kinds.secretRef,
    location: opt(credentialLocation, 'Where the credential is written.'),
  },
  { exactlyOneOf: [['key', 'secretRef']] },
)
export const bedrockGuardrailsAuth = object(
  'guardrail auth',
  {
    key: kinds.key,
    secretRef: kinds.secretRef,
    aws: kinds.aws,
    location: opt(credentialLocation, 'Where `key` or `secretRef` is written.'),
  },
  {
    exactlyOneOf: [['key', 'secretRef', 'aws']],
    check: locationHasCredential,
    rules: [serverRule('!has(self.location) || !has(self.aws)', 'location goes only with key or secretRef')],
  },
)
export const gcpOnlyAuth = object('guardrail auth', { gcp: kinds.gcp }, { exactlyOneOf: [['gcp']] })

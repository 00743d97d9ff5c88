import { TOKEN_TYPES, tokenTypeUri } from '../../auth/oauth/token-types.ts'
import { OWN_CLAIMS, SIGNING_ALGORITHMS } from '../../auth/signing-algorithms.ts'
import {
  boolean,
  cel,
  def,
  type Field,
  type Fields,
  integer,
  list,
  map,
  nothing,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  req,
  secret,
  shapes,
  string,
  urlText,
} from '../../schema/builder.ts'
import { duration, fileOrInline } from '../../schema/scalars.ts'
import { readLocation, writeLocation } from '../parts/credential-location.ts'

const path = urlText({ min: 1, max: 1024, pattern: /^\//, form: 'a path that starts with `/`' })
const name = string({ min: 1 })
const names = list(name, { min: 1, max: 64 })
/** Claims that the signer sets itself. */
export function ownClaim(name: string) {
  return OWN_CLAIMS.includes(name) ? { message: `the claim \`${name}\` is set by the gateway itself` } : undefined
}

const secretText = fileOrInline({ secret: true })
const location = opt(
  writeLocation,
  'Where the credential is written; the Authorization header with `Bearer ` when unset.',
)

const key = shapes({
  string: secret(),
  object: object(
    'key',
    {
      value: opt(secretText, 'The key, or `file` with the path of one.'),
      file: opt(string({ min: 1 }), 'Path of a file with the key.'),
      location,
    },
    { exactlyOneOf: [['value', 'file']] },
  ),
})

const gcp = object(
  'Google authentication',
  {
    type: def(oneOf(['accessToken', 'idToken']), 'accessToken', 'Kind of token.'),
    audience: opt(name, 'Audience of an ID token; the called URL when unset.'),
    credential: opt(secretText, 'Service account key; the environment’s own identity when unset.'),
  },
  {
    check: v =>
      v.type === 'accessToken' && v.audience !== undefined
        ? [
            {
              path: ['audience'],
              at: 'key',
              message: 'an access token has no audience',
              help: 'set `type: idToken`, or remove `audience`',
            },
          ]
        : [],
  },
)

const aws = object(
  'AWS authentication',
  {
    accessKeyId: opt(secret(), 'Access key id; needs `secretAccessKey`.'),
    secretAccessKey: opt(secret(), 'Secret access key.'),
    sessionToken: opt(secret(), 'Session token of temporary credentials.'),
    region: opt(name, 'Region to sign for.'),
    serviceName: opt(name, 'Service to sign for.'),
    assumeRole: opt(
      object('assumed role', {
        roleArn: req(name, 'ARN of the role.'),
        sessionName: opt(
          shapes({
            string: name,
            object: object('session name', {
              expression: req(cel('request', 'string'), 'Expression for the name; each value gets its own session.'),
            }),
          }),
          'Name of the session.',
        ),
        tags: opt(
          list(
            object(
              'session tag',
              {
                key: req(name, 'Tag key.'),
                value: opt(string(), 'Tag value.'),
                expression: opt(cel('request', 'string'), 'Expression for the tag value.'),
              },
              { exactlyOneOf: [['value', 'expression']] },
            ),
          ),
          'Tags of the session.',
        ),
      }),
      'A role to assume with the credentials found.',
    ),
  },
  { atMostOneOf: [['accessKeyId', 'assumeRole']], check: wholeKeyPair },
)

function wholeKeyPair(v: Record<string, unknown>): ObjectProblem[] {
  const [set, other] =
    v.accessKeyId === undefined ? ['secretAccessKey', 'accessKeyId'] : ['accessKeyId', 'secretAccessKey']
  if (v[set!] === undefined || v[other!] !== undefined) return []
  return [{ path: [set!], at: 'key', message: `\`${set}\` needs \`${other}\``, label: `\`${other}\` is missing` }]
}

const empty = (noun: string) => object(noun, {})
const identityKinds = ['clientId', 'objectId', 'resourceId']
const azure = object(
  'Azure authentication',
  {
    explicitConfig: opt(
      object(
        'explicit Azure credentials',
        {
          clientSecret: opt(
            object('client secret', {
              tenant_id: req(name, 'Tenant.', { aliases: ['tenantId'] }),
              client_id: req(name, 'Client id.', { aliases: ['clientId'] }),
              client_secret: req(secret(), 'Client secret.', { aliases: ['clientSecret'] }),
            }),
            'An application with a secret.',
          ),
          managedIdentity: opt(
            object('managed identity', {
              userAssignedIdentity: opt(
                object(
                  'user-assigned identity',
                  {
                    clientId: opt(name, 'By client id.'),
                    objectId: opt(name, 'By object id.'),
                    resourceId: opt(name, 'By resource id.'),
                  },
                  { exactlyOneOf: [identityKinds] },
                ),
                'The identity; the system-assigned one when unset.',
              ),
            }),
            'The identity of the machine.',
          ),
          workloadIdentity: opt(empty('workload identity'), 'The identity of the pod.'),
        },
        { exactlyOneOf: [['clientSecret', 'managedIdentity', 'workloadIdentity']] },
      ),
      'Credentials of one kind.',
    ),
    developerImplicit: opt(empty('developer credentials'), 'The login of the Azure CLI.'),
    implicit: opt(empty('implicit credentials'), 'Whatever credentials the environment offers.'),
  },
  {
    exactlyOneOf: [['explicitConfig', 'developerImplicit', 'implicit']],
    instead: Object.fromEntries(
      ['clientId', 'clientSecret', 'tenantId', 'client_id', 'client_secret', 'tenant_id'].map(key => [
        key,
        'write `explicitConfig: {clientSecret: {tenant_id: …, client_id: …, client_secret: …}}`',
      ]),
    ),
  },
)

export const jwtSign = object('signed token', {
  signingKey: req(secretText, 'PEM private key.'),
  alg: def(oneOf(SIGNING_ALGORITHMS), 'RS256', 'Signature algorithm.'),
  kid: opt(name, 'Key id in the header of the token.'),
  claims: def(map(cel('request', 'any'), { keys: ownClaim }), {}, 'Claim name to expression.'),
  ttl: def(duration, '5m', 'Lifetime of a token; it is reused for half of that.'),
  location,
})

export const clientAuth = object(
  'client authentication',
  {
    method: def(
      oneOf(['clientSecretBasic', 'clientSecretPost', 'privateKeyJwt']),
      'clientSecretBasic',
      'How the client authenticates.',
    ),
    clientId: req(name, 'Client id.'),
    clientSecret: opt(secretText, 'Client secret.'),
    signingKey: opt(secretText, 'PEM private key, for `privateKeyJwt`.'),
    certificate: opt(secretText, 'PEM certificate of the key.'),
    certificateHeader: opt(oneOf(['x5c', 'x5t#S256']), 'How the assertion identifies the certificate.'),
    alg: opt(oneOf(SIGNING_ALGORITHMS), 'Signature algorithm; RS256 when unset.'),
    kid: opt(name, 'Key id in the header of the assertion.'),
    assertionAudience: opt(name, 'Audience of the assertion.'),
  },
  { check: methodHasItsFields },
)

function methodHasItsFields(v: Record<string, unknown>): ObjectProblem[] {
  const needed =
    v.method === 'privateKeyJwt'
      ? ['signingKey', 'assertionAudience']
      : v.method === 'clientSecretBasic'
        ? ['clientSecret']
        : []
  const problems = needed
    .filter(field => v[field] === undefined)
    .map(field => ({
      path: [],
      at: 'parent' as const,
      message: `\`${String(v.method)}\` needs \`${field}\``,
      label: `\`${field}\` is missing`,
    }))
  if ((v.certificate === undefined) === (v.certificateHeader === undefined)) return problems
  const set = v.certificate === undefined ? 'certificateHeader' : 'certificate'
  return [...problems, { path: [set], at: 'key', message: '`certificate` and `certificateHeader` need each other' }]
}

const SHORT_TYPES = Object.keys(TOKEN_TYPES)
const tokenType = string({
  pattern: /^$|^(AccessToken|Jwt|IdToken|IdJag)$|^[A-Za-z][A-Za-z0-9+.-]*:./,
  form: 'AccessToken, Jwt, IdToken, IdJag or an absolute URI',
})
/** Only the built-in types can be requested; each may also be written as its URN. */
const requestedTokenType = oneOf(
  SHORT_TYPES,
  Object.fromEntries(Object.entries(TOKEN_TYPES).map(([short, urn]) => [urn, short])),
)
export const subjectToken = object('subject token', {
  source: opt(readLocation, 'Where to read the token; the Authorization header when unset.'),
  tokenType: opt(tokenType, 'Its type; an access token when unset.'),
})
export const tokenCache = object('token cache', {
  maxEntries: def(integer(0), 8192, 'Number of tokens to cache; 0 caches none.'),
  defaultTtl: def(duration, '5m', 'Lifetime of tokens for which the endpoint gives none.'),
})

/** Parameters of the grant, which an expression must not duplicate. */
const OWN_PARAMETERS = [
  ...['grant_type', 'assertion', 'subject_token', 'subject_token_type', 'actor_token', 'actor_token_type'],
  ...['requested_token_type', 'audience', 'scope', 'resource', 'client_id', 'client_secret'],
  ...['client_assertion', 'client_assertion_type'],
]
function ownParameter(name: string) {
  if (!OWN_PARAMETERS.includes(name)) return undefined
  return { message: `the parameter \`${name}\` is set by the gateway itself` }
}

function grantTakes(v: Record<string, unknown>): ObjectProblem[] {
  const actor = v.actorToken as { tokenType?: string; enforceMayAct?: boolean } | undefined
  const problems: ObjectProblem[] = []
  if (v.grantType === 'jwtBearer') {
    for (const name of ['actorToken', 'requestedTokenType'].filter(each => v[each] !== undefined)) {
      problems.push({
        path: [name],
        at: 'key',
        message: `\`${name}\` cannot be combined with \`grantType: jwtBearer\``,
      })
    }
  }
  if (v.requestedTokenType === 'IdJag') {
    const message = 'an identity assertion cannot be asked for here'
    problems.push({ path: ['requestedTokenType'], at: 'value', message, help: 'use `crossAppAccess`' })
  }
  if (actor?.enforceMayAct && tokenTypeUri(actor.tokenType, 'AccessToken') !== TOKEN_TYPES.Jwt) {
    const message = '`enforceMayAct` compares claims, so the actor token must be one'
    problems.push({ path: ['actorToken'], at: 'key', message, help: 'set `tokenType: Jwt`' })
  }
  return problems
}

function assertionIsNoSubject(v: Record<string, unknown>): ObjectProblem[] {
  const { tokenType } = (v.subjectToken ?? {}) as { tokenType?: string }
  if (tokenTypeUri(tokenType, 'IdToken') !== TOKEN_TYPES.IdJag) return []
  const message = 'an identity assertion cannot be its own subject token'
  return [{ path: ['subjectToken', 'tokenType'], at: 'value', message }]
}
const VARIANTS = ['key', 'passthrough', 'gcp', 'aws', 'azure', 'jwtSign', 'oauthTokenExchange', 'crossAppAccess']

// long: one variant after the other.
/** The credential of a call (specification, Outbound authentication). `target`: how a token endpoint is referenced. */
export function backendAuthSchema<T extends Fields & { readonly policies: Field<unknown, 'optional'> }>(target: T) {
  const targetKinds = Object.keys(target).filter(field => field !== 'policies')
  const oauthTokenExchange = object(
    'token exchange',
    {
      ...target,
      path: def(path, '/', 'Path of the token endpoint.'),
      grantType: def(oneOf(['tokenExchange', 'jwtBearer']), 'tokenExchange', 'RFC 8693 or RFC 7523.'),
      subjectToken: opt(subjectToken, 'The token to exchange.'),
      actorToken: opt(
        object('actor token', {
          source: req(readLocation, 'Where to read the token.'),
          tokenType: opt(tokenType, 'Its type; an access token when unset.'),
          enforceMayAct: def(boolean, false, 'The subject token must name the actor in `may_act`.'),
        }),
        'The token of the party that acts for the subject.',
      ),
      audiences: opt(names, 'Audiences to request.'),
      scopes: opt(names, 'Scopes to request.'),
      resources: opt(names, 'Resources to request.'),
      requestedTokenType: opt(requestedTokenType, 'Type of token to request.'),
      clientAuth: opt(clientAuth, 'How the gateway authenticates at the endpoint.'),
      additionalParams: opt(
        map(cel('request', 'any'), { max: 64, keys: ownParameter }),
        'Further form parameters: name to expression.',
      ),
      authorizationLocation: opt(writeLocation, 'Where the new token is written; the Authorization header when unset.'),
      cache: opt(tokenCache, 'Cache of tokens between requests.'),
    },
    { exactlyOneOf: [targetKinds], check: grantTakes },
  )
  const authority = (noun: string) =>
    object(
      noun,
      {
        ...target,
        path: def(path, '/', 'Path of the token endpoint.'),
        clientAuth: req(clientAuth, 'How the gateway authenticates there.'),
      },
      { exactlyOneOf: [targetKinds] },
    )
  const crossAppAccess = object(
    'cross-app access',
    {
      identityProvider: req(authority('identity provider'), 'Issues the identity assertion.'),
      resourceAuthorizationServer: req(authority('resource authorization server'), 'Issues the access token.'),
      audience: req(name, 'Audience of the assertion.'),
      resources: opt(names, 'Resources to request.'),
      scopes: opt(names, 'Scopes of the assertion.'),
      accessTokenScopes: opt(names, 'Scopes of the access token.'),
      subjectToken: opt(
        subjectToken,
        'The token that identifies the user; an ID token in the Authorization header when unset.',
      ),
      cache: opt(tokenCache, 'Cache of tokens between requests.'),
    },
    { check: assertionIsNoSubject },
  )
  const credential = object('credential', {
    location: req(writeLocation, 'Where the credential is written.'),
    key: req(secretText, 'The credential, or `file` with the path of one.'),
  })
  return shapes({
    string: oneOf(['copilot']),
    object: object(
      'backend authentication',
      {
        key: opt(key, 'A fixed key.'),
        passthrough: opt(
          shapes({ object: object('passthrough', { location }), null: nothing }),
          'The token that a policy has validated and removed from the request.',
        ),
        gcp: opt(shapes({ object: gcp, null: nothing }), 'A Google identity.'),
        aws: opt(shapes({ object: aws, null: nothing }), 'AWS Signature Version 4.'),
        azure: opt(azure, 'An Azure identity.'),
        jwtSign: opt(jwtSign, 'A token that the gateway signs itself.'),
        oauthTokenExchange: opt(oauthTokenExchange, 'A token obtained in exchange for the client’s.'),
        crossAppAccess: opt(crossAppAccess, 'A token for another application of the same user.'),
        credentials: opt(
          list(credential, { min: 1, max: 8 }),
          'Further fixed credentials, each with its own location.',
        ),
      },
      { atMostOneOf: [VARIANTS], atLeastOneOf: [[...VARIANTS, 'credentials']] },
    ),
  })
}

import { SIGNING_ALGORITHMS } from '../../../auth/signing-algorithms.ts'
import {
  cel,
  def,
  integer,
  list,
  map,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  req,
  type Schema,
  serverRule,
  string,
} from '../../../schema/builder.ts'
import { credentialLocation, credentialSource, endpoint, secretRef } from '../../../schema/resource-references.ts'
import { absolutePath, resourceDuration } from '../../../schema/resource-scalars.ts'
import { all, missing, problem } from '../../../schema/rules.ts'
import { shortString } from '../../../schema/scalars.ts'

const BUILT_IN = ['AccessToken', 'Jwt', 'IdToken', 'IdJag']
const ID_JAG = ['IdJag', 'urn:ietf:params:oauth:token-type:id-jag']

const privateKeyJwt = object(
  'private key JWT',
  {
    signingKeyRef: req(secretRef({ key: 'signingKey' }), 'A Secret with the private key.'),
    assertionAudience: req(string({ min: 1 }), 'Audience of the assertion.'),
    alg: def(oneOf(SIGNING_ALGORITHMS), 'RS256', 'The algorithm.'),
    kid: opt(string({ min: 1 }), 'The key identifier.'),
    certificateRef: opt(secretRef({ key: 'certificate' }), 'A Secret with the certificate of the key.'),
    certificateHeader: opt(oneOf(['x5c', 'x5t#S256']), 'How the certificate is sent.'),
  },
  {
    check: value => {
      if (value.certificateRef && !value.certificateHeader) {
        return [missing('certificateHeader', '`certificateRef` needs `certificateHeader` beside it')]
      }
      return value.certificateHeader && !value.certificateRef
        ? [missing('certificateRef', '`certificateHeader` needs `certificateRef` beside it')]
        : []
    },
    rules: [
      serverRule(
        'has(self.certificateRef) == has(self.certificateHeader)',
        'certificateRef and certificateHeader need one another',
      ),
    ],
  },
)

const clientAuth = object(
  'OAuth client auth',
  {
    clientId: req(string({ min: 1 }), 'The client.'),
    secretRef: opt(secretRef({ key: 'clientSecret' }), 'A Secret with the client secret.'),
    method: def(
      oneOf(['ClientSecretBasic', 'ClientSecretPost', 'PrivateKeyJwt']),
      'ClientSecretBasic',
      'How the client authenticates.',
    ),
    privateKeyJwt: opt(privateKeyJwt, 'The key for `PrivateKeyJwt`.'),
  },
  {
    check: value => {
      const signs = value.method === 'PrivateKeyJwt'
      if (signs && !value.privateKeyJwt)
        return [missing('privateKeyJwt', 'the method PrivateKeyJwt needs `privateKeyJwt`')]
      if (!signs && value.privateKeyJwt) {
        return [problem(['privateKeyJwt'], '`privateKeyJwt` goes only with the method PrivateKeyJwt')]
      }
      if (signs && value.secretRef)
        return [problem(['secretRef'], '`secretRef` cannot be combined with the method PrivateKeyJwt')]
      return value.method === 'ClientSecretBasic' && !value.secretRef
        ? [
            missing(
              'secretRef',
              'the method ClientSecretBasic needs `secretRef`; without one only ClientSecretPost is possible',
            ),
          ]
        : []
    },
    rules: [
      serverRule(
        "has(self.privateKeyJwt) == (self.method == 'PrivateKeyJwt')",
        'privateKeyJwt goes with the method PrivateKeyJwt, and only with it',
      ),
      serverRule(
        "has(self.secretRef) ? self.method != 'PrivateKeyJwt' : self.method != 'ClientSecretBasic'",
        'ClientSecretBasic needs secretRef, and PrivateKeyJwt takes none',
      ),
    ],
  },
)

const tokenType = string({
  pattern: /^$|^(AccessToken|Jwt|IdToken|IdJag)$|^[A-Za-z][A-Za-z0-9+.-]*:.+$/,
  form: `one of ${BUILT_IN.join(', ')} or an absolute URI`,
})
const subjectToken = object('subject token', {
  source: opt(credentialSource, 'Where to read the token; `Authorization: Bearer` when unset.'),
  tokenType: opt(tokenType, 'Its type; `AccessToken` when unset.'),
})
const actorToken = object(
  'actor token',
  {
    source: req(credentialSource, 'Where to read the token.'),
    tokenType: opt(tokenType, 'Its type; `AccessToken` when unset.'),
    mayAct: opt(oneOf(['Required']), 'The subject token must name the actor.'),
  },
  {
    check: value =>
      value.mayAct && value.tokenType !== 'Jwt'
        ? [problem(['mayAct'], '`mayAct` goes only with `tokenType: Jwt`')]
        : [],
    rules: [
      serverRule(
        "!has(self.mayAct) || (has(self.tokenType) && self.tokenType == 'Jwt')",
        'mayAct goes only with tokenType Jwt',
      ),
    ],
  },
)

const cache = object('token cache', {
  inMemory: opt(
    object('in-memory token cache', {
      maxEntries: def(integer(0), 8192, 'Number of tokens to cache; 0 caches none.'),
      defaultTtl: def(resourceDuration(1000), '300s', 'Lifetime of tokens whose response gives none.'),
    }),
    'Caches tokens in memory.',
  ),
})

const texts = list(shortString, { min: 1, max: 64 })
const plainTexts = list(string({ min: 1 }), { min: 1, max: 64 })
const server = endpoint({ urlPath: true, what: 'The token endpoint’s server' })

function pathNeedsReference(value: Record<string, unknown>): readonly ObjectProblem[] {
  return value.url && value.path !== undefined
    ? [problem(['path'], '`path` cannot be combined with `url`: the URL has the path')]
    : []
}
const PATH_RULE = serverRule('!has(self.url) || !has(self.path)', 'path cannot be combined with url')
const path = opt(absolutePath, 'The path of the token endpoint on `backendRef`; `/` when unset.')

/** RFC 8693 and RFC 7523. */
export const tokenExchange = object(
  'token exchange',
  {
    ...server.fields,
    path,
    grantType: def(oneOf(['TokenExchange', 'JwtBearer']), 'TokenExchange', 'The grant.'),
    subjectToken: opt(subjectToken, 'The token to exchange.'),
    actorToken: opt(actorToken, 'The token of the acting party.'),
    audiences: opt(texts, 'Audience of the new token.'),
    scopes: opt(plainTexts, 'Requested scopes.'),
    resources: opt(plainTexts, 'Requested resources.'),
    requestedTokenType: opt(oneOf(['AccessToken', 'Jwt', 'IdToken', 'IdJag']), 'The requested type of token.'),
    additionalParams: opt(map(cel('request', 'any'), { max: 64 }), 'Further form parameters: name to expression.'),
    clientAuth: opt(clientAuth, 'How the gateway authenticates at the token endpoint.'),
    location: opt(credentialLocation, 'Where the new token is written.'),
    cache: opt(cache, 'How long tokens are cached.'),
  },
  {
    exactlyOneOf: [server.group],
    check: all(pathNeedsReference, grantTakes),
    rules: [
      PATH_RULE,
      serverRule(
        "!has(self.requestedTokenType) || self.requestedTokenType != 'IdJag'",
        'IdJag cannot be asked for here: use crossAppAccess',
      ),
      serverRule(
        "self.grantType != 'JwtBearer' || (!has(self.actorToken) && !has(self.requestedTokenType))",
        'actorToken and requestedTokenType cannot be combined with grantType JwtBearer',
      ),
    ],
  },
)

function grantTakes(value: Record<string, unknown>): readonly ObjectProblem[] {
  if (value.requestedTokenType === 'IdJag') {
    return [problem(['requestedTokenType'], '`IdJag` cannot be asked for here: use `crossAppAccess`', { at: 'value' })]
  }
  if (value.grantType !== 'JwtBearer') return []
  return ['actorToken', 'requestedTokenType']
    .filter(name => value[name] !== undefined)
    .map(name => problem([name], `\`${name}\` cannot be combined with \`grantType: JwtBearer\``))
}

const authority = object(
  'authorization server',
  { ...server.fields, path, clientAuth: req(clientAuth, 'How the gateway authenticates.') },
  { exactlyOneOf: [server.group], check: pathNeedsReference, rules: [PATH_RULE] },
)

/** An identity assertion is obtained from one server and exchanged at another. */
export const crossAppAccess: Schema<unknown> = object(
  'cross-app access',
  {
    identityProvider: req(authority, 'Server that issues the identity assertion.'),
    resourceAuthorizationServer: req(authority, 'Server where it is exchanged.'),
    audience: req(shortString, 'Audience of the assertion.'),
    resources: opt(plainTexts, 'Requested resources.'),
    scopes: opt(plainTexts, 'Requested scopes.'),
    accessTokenScopes: opt(list(string({ min: 1 }), { max: 64 }), 'Scopes of the access token.'),
    subjectToken: opt(subjectToken, 'The token that proves the identity; an ID token when unset.'),
    cache: opt(cache, 'How long tokens are cached.'),
  },
  {
    check: value => {
      const given = (value.subjectToken as { tokenType?: string } | undefined)?.tokenType
      return given !== undefined && ID_JAG.includes(given)
        ? [
            problem(['subjectToken', 'tokenType'], 'an identity assertion cannot be its own subject token', {
              at: 'value',
            }),
          ]
        : []
    },
    rules: [
      serverRule(
        `!has(self.subjectToken) || !has(self.subjectToken.tokenType) || !(self.subjectToken.tokenType in [${ID_JAG.map(type => `'${type}'`).join(', ')}])`,
        'an identity assertion cannot be its own subject token',
      ),
    ],
  },
)

// OAuth for MCP clients (specification, MCPAuthentication).

import { jwks } from '../../auth/key-source.ts'
import { def, json, list, map, object, oneOf, opt, req, shapes, string } from '../../schema/builder.ts'
import { remoteKeySet, secretRef } from '../../schema/resource-references.ts'
import { fileOrInline, shortString } from '../../schema/scalars.ts'
import { asFields, type Fields } from '../../schema/untyped.ts'
import { type ClusterContext, defined, lower, type Policies, strings } from '../parts/cluster-form.ts'
import { readLocation } from '../parts/credential-location.ts'
import { AUTH_MODES, IDENTITY_PROVIDERS, keySetCache } from '../parts/issuers.ts'
import { definePolicy } from '../policy.ts'

const empty = (name: string) => opt(object(name, {}), `${name}.`)
const PROVIDERS = ['auth0', 'keycloak', 'okta', 'descope', 'authentik', 'entra'] as const
const provider = shapes({
  string: oneOf(PROVIDERS),
  object: object('identity provider', Object.fromEntries(PROVIDERS.map(name => [name, empty(name)])), {
    exactlyOneOf: [PROVIDERS],
  }),
})

const inCluster = object('MCP authentication', {
  resourceMetadata: opt(map(json), 'What the protected resource says about itself.'),
  provider: opt(oneOf(IDENTITY_PROVIDERS), 'The identity provider, if it needs help to follow the protocol.'),
  issuer: opt(shortString, 'The `iss` claim.'),
  audiences: opt(list(shortString, { min: 1, max: 64 }), 'Accepted `aud` claims; any when unset.'),
  jwks: req(remoteKeySet(keySetCache), 'The keys that sign tokens.'),
  mode: def(oneOf(AUTH_MODES), 'Strict', 'What happens without a valid token.'),
  clientId: opt(string(), 'The client that registrations are answered with.'),
  clientSecretRef: opt(secretRef({ key: 'clientSecret' }), 'A Secret with the secret of that client.'),
})

export const mcpAuthentication = definePolicy({
  name: 'mcpAuthentication',
  doc: 'OAuth for MCP clients: token validation and the metadata documents that lead to it.',
  spec: 'Inbound: JWT',
  cluster: [
    { section: 'mcp', member: 'authentication', field: opt(inCluster, 'OAuth as MCP prescribes it.'), convert },
  ],
  asksFor: 'token',
  guards: true,
  attach: ['route'],
  unserved:
    'MCP authentication is not served yet: requests would pass unauthenticated. `jwtAuth` validates tokens, without the OAuth metadata.',
  schema: object('MCP authentication', {
    issuer: req(string({ min: 1, max: 256 }), 'Issuer of the tokens.'),
    audiences: req(list(string({ min: 1 }), { max: 64 }), 'Audiences, of which a token must carry one.'),
    provider: opt(provider, 'Identity provider, where its endpoints differ from the standard.'),
    resourceMetadata: def(map(json), {}, 'Protected resource metadata, as it is served.'),
    jwks: opt(jwks, 'Key set; the issuer’s own when unset.'),
    mode: def(
      oneOf(['strict', 'optional', 'permissive'], { Strict: 'strict', Optional: 'optional', Permissive: 'permissive' }),
      'strict',
      'Whether a token must be present.',
    ),
    authorizationLocation: opt(readLocation, 'Where the token is read; the Authorization header when unset.'),
    jwtValidationOptions: opt(
      object('validation options', {
        requiredClaims: def(list(string({ min: 1 })), ['exp'], 'Claims that must be present.'),
      }),
      'How tokens are validated.',
    ),
    clientId: opt(string({ min: 1 }), 'Given to clients that register, without asking the provider.'),
    clientSecret: opt(fileOrInline({ secret: true }), 'Added to token requests.'),
  }),
  compile: () => ({}),
})

function convert(part: Fields, ctx: ClusterContext): Policies {
  const secret = asFields(part.clientSecretRef)
  return defined({
    issuer: part.issuer,
    audiences: strings(part.audiences) ?? [],
    provider: lower(part.provider),
    resourceMetadata: part.resourceMetadata && ctx.kept(part.resourceMetadata),
    jwks: ctx.keySet(asFields(part.jwks) ?? {}),
    mode: lower(part.mode ?? 'Strict'),
    clientId: part.clientId,
    clientSecret: secret && ctx.secrets.shown(secret, 'clientSecret'),
  })
}

// OAuth for MCP clients (specification, MCPAuthentication).

import { jwks } from '../../auth/key-source.ts'
import { def, json, list, map, object, oneOf, opt, req, shapes, string } from '../../schema/builder.ts'
import { fileOrInline } from '../../schema/scalars.ts'
import { readLocation } from '../parts/credential-location.ts'
import { definePolicy } from '../policy.ts'

const empty = (name: string) => opt(object(name, {}), `${name}.`)
const PROVIDERS = ['auth0', 'keycloak', 'okta', 'descope', 'authentik', 'entra'] as const
const provider = shapes({
  string: oneOf(PROVIDERS),
  object: object('identity provider', Object.fromEntries(PROVIDERS.map(name => [name, empty(name)])), {
    exactlyOneOf: [PROVIDERS],
  }),
})

export const mcpAuthentication = definePolicy({
  name: 'mcpAuthentication',
  doc: 'OAuth for MCP clients: token validation and the metadata documents that lead to it.',
  spec: 'Inbound: JWT',
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

// Browser sign-in with an OpenID provider.

import { jwks } from '../../auth/key-source.ts'
import { def, list, object, oneOf, opt, req, shapes, string } from '../../schema/builder.ts'
import { fileOrInline, url } from '../../schema/scalars.ts'
import { definePolicy } from '../policy.ts'

const document = shapes({
  string: string({ min: 2 }),
  object: object(
    'discovery document',
    { file: opt(string({ min: 1 }), 'Path of the document.'), url: opt(url(), 'Address of the document.') },
    { exactlyOneOf: [['file', 'url']] },
  ),
})

export const oidc = definePolicy({
  name: 'oidc',
  doc: 'Signs browsers in with an OpenID provider.',
  attach: ['listener', 'route'],
  asksFor: 'session',
  unserved:
    'Sign-in is not served yet: requests would pass without one. `jwtAuth` takes tokens that clients already have.',
  schema: object('OIDC', {
    issuer: req(string({ min: 1 }), 'Issuer.'),
    discovery: opt(document, 'Discovery document; fetched from the issuer when unset.'),
    authorizationEndpoint: opt(url(), 'Where browsers are sent.'),
    tokenEndpoint: opt(url(), 'Where codes are exchanged.'),
    tokenEndpointAuth: opt(oneOf(['clientSecretBasic', 'clientSecretPost']), 'How the gateway signs in there.'),
    jwks: opt(jwks, 'Key set of the provider.'),
    clientId: req(string({ min: 1 }), 'Client id.'),
    clientSecret: req(fileOrInline({ secret: true }), 'Client secret.'),
    redirectURI: req(url(), 'Where the provider sends browsers back to.'),
    scopes: def(list(string({ min: 1 })), [], 'Scopes besides `openid`.'),
  }),
  compile: () => ({}),
})

import { jsonReply, type StubCall, type StubReply } from './stub-transport.ts'

const DOCUMENT = /^(.*)\/\.well-known\/(?:openid-configuration|oauth-authorization-server)(.*)$/

/** Standard metadata of an identity provider. Undefined for other calls. */
export function providerReply({ method, path, authority, target, purpose }: StubCall): StubReply | undefined {
  const document = purpose?.subtype === 'Oidc' && method === 'GET' ? DOCUMENT.exec(path) : null
  if (document === null) return undefined
  const issuer = `${target.tls ? 'https' : 'http'}://${authority}${document[1]}${document[2]}`
  return jsonReply({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
  })
}

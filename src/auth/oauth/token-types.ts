/** Token types by short name (RFC 8693 section 3, draft-ietf-oauth-identity-assertion-authz-grant). */
export const TOKEN_TYPES = {
  AccessToken: 'urn:ietf:params:oauth:token-type:access_token',
  Jwt: 'urn:ietf:params:oauth:token-type:jwt',
  IdToken: 'urn:ietf:params:oauth:token-type:id_token',
  IdJag: 'urn:ietf:params:oauth:token-type:id-jag',
} as const
export type TokenType = keyof typeof TOKEN_TYPES

/** The URI of a configured type; other URIs are kept, and empty text counts as unset. */
export function tokenTypeUri(written: string | undefined, unset: TokenType): string {
  if (written === undefined || written === '') return TOKEN_TYPES[unset]
  return Object.hasOwn(TOKEN_TYPES, written) ? TOKEN_TYPES[written as TokenType] : written
}

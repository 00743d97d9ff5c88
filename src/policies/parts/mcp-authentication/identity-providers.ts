/** What an identity provider does otherwise than MCP clients expect. */
export interface IdentityProvider {
  /** It has its metadata where OpenID Connect Discovery wants them, and only there. */
  readonly openid: boolean
  /** Below the issuer, where the metadata cannot be had. */
  readonly keys: string
  /** It knows no `resource` (RFC 8707): the audience is a parameter of its sign-in page. */
  readonly needsAudience?: true
  /** It refuses requests that have a `resource`. */
  readonly refusesResource?: true
  /** It does not say that it checks PKCE, and clients refuse to go on without. */
  readonly hidesPkce?: true
}

const KEYS = '/.well-known/jwks.json'

export const PROVIDERS = {
  auth0: { openid: false, keys: KEYS, needsAudience: true },
  keycloak: { openid: true, keys: '/protocol/openid-connect/certs' },
  okta: { openid: true, keys: '/v1/keys', needsAudience: true },
  descope: { openid: true, keys: KEYS },
  authentik: { openid: true, keys: '/jwks/' },
  entra: { openid: true, keys: '/discovery/v2.0/keys', refusesResource: true, hidesPkce: true },
} as const satisfies Record<string, IdentityProvider>

export type ProviderName = keyof typeof PROVIDERS
export const PROVIDER_NAMES = Object.keys(PROVIDERS) as ProviderName[]

export const DEFAULT_KEYS = KEYS

export function isIn<N extends string>(value: unknown, name: N): value is Readonly<Record<N, unknown>> {
  return typeof value === 'object' && value !== null && name in value
}

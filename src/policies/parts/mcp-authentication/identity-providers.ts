/** How an identity provider deviates from what MCP clients expect. */
export interface IdentityProvider {
  /** Its metadata is only at the OpenID Connect Discovery location. */
  readonly openid: boolean
  /** Path of the keys below the issuer, used if the metadata is unavailable. */
  readonly keys: string
  /** It does not support `resource` (RFC 8707): the audience is a parameter of its sign-in page. */
  readonly needsAudience?: true
  /** It rejects requests with a `resource`. */
  readonly refusesResource?: true
  /** It does not advertise PKCE, without which clients refuse to continue. */
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

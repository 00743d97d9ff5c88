import { def, parsed, string } from '../../schema/builder.ts'
import { resourceDuration } from '../../schema/resource-scalars.ts'

/** Token issuer settings in resources. */
export const IDENTITY_PROVIDERS = ['Auth0', 'Keycloak', 'Okta', 'Descope', 'Authentik', 'Entra'] as const
export const AUTH_MODES = ['Strict', 'Optional', 'Permissive'] as const
/** Key sets are fetched at most every five minutes. */
export const keySetCache = def(resourceDuration(300_000), '5m', 'How long the key set is cached.')

/** An issuer URL, below which its documents are found. */
export const issuerUrl = parsed(
  string({ min: 1, max: 256 }),
  'a URL starting with `https://` or `http://`, without query and fragment',
  value => {
    const url = URL.canParse(value) ? new URL(value) : undefined
    return url && /^https?:$/.test(url.protocol) && url.username === '' && !/[?#]/.test(value)
      ? { value }
      : { problem: { message: 'the issuer is not an `http(s)://` URL without user, query and fragment' } }
  },
  'https://localhost',
  { type: 'string', minLength: 1, maxLength: 256, pattern: '^https?://[^\\s?#@]+$' },
)

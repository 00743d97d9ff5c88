import { def } from '../../schema/builder.ts'
import { resourceDuration } from '../../schema/resource-scalars.ts'

/** What resources may say of the issuers of tokens. */
export const IDENTITY_PROVIDERS = ['Auth0', 'Keycloak', 'Okta', 'Descope', 'Authentik', 'Entra'] as const
export const AUTH_MODES = ['Strict', 'Optional', 'Permissive'] as const
/** Key sets are not asked for more often than every five minutes. */
export const keySetCache = def(resourceDuration(300_000), '5m', 'How long the key set is kept.')

/** For tokens signed by the gateway. */
export const SIGNING_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'ES384'] as const
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number]

/** Claims set by the signer itself. */
export const OWN_CLAIMS: readonly string[] = ['iat', 'exp', 'nbf']

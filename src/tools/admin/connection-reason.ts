/** Why a connection failed, in words; of several addresses tried, the first one counts. */
export function connectionReason(error: unknown): string {
  const first: unknown = error instanceof AggregateError && error.errors.length > 0 ? error.errors[0] : error
  const { code } = first as NodeJS.ErrnoException
  return (code !== undefined && REASONS[code]) || (first instanceof Error ? first.message : String(first))
}

const UNKNOWN_CA = 'its certificate is not signed by a CA that is trusted here'

const REASONS: Readonly<Record<string, string>> = {
  ABORT_ERR: 'no answer in time',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EAI_AGAIN: 'its name cannot be looked up now',
  ENOTFOUND: 'no such host',
  ENOENT: 'there is no such socket',
  EACCES: 'permission denied',
  ETIMEDOUT: 'no answer in time',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the host',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_CA,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
}

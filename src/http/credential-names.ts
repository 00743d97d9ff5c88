// The only list of names that carry credentials; values under these names are never shown.

/**
 * Fields that carry credentials by definition (RFC 9110, RFC 6265) or by convention of providers, proxies and
 * frameworks.
 */
const HEADERS: ReadonlySet<string> = new Set([
  ...['authorization', 'proxy-authorization', 'cookie', 'cookie2', 'set-cookie', 'set-cookie2', 'authentication-info'],
  ...['x-authorization', 'x-forwarded-authorization', 'x-original-authorization', 'x-forwarded-access-token'],
  ...['x-api-key', 'api-key', 'apikey', 'x-apikey', 'x-goog-api-key', 'x-functions-key', 'ocp-apim-subscription-key'],
  ...['x-auth-token', 'x-auth-key', 'x-access-token', 'x-id-token', 'x-refresh-token', 'x-session-token', 'x-token'],
  ...['x-csrf-token', 'x-xsrf-token', 'x-amz-security-token', 'x-amzn-oidc-data', 'x-amzn-oidc-accesstoken'],
  ...['x-vault-token', 'x-consul-token', 'private-token', 'job-token', 'x-gitlab-token', 'x-github-token'],
  ...['x-secret', 'x-client-secret', 'x-secret-key', 'x-password', 'x-jwt-assertion', 'cf-access-jwt-assertion'],
  ...['cf-access-client-secret', 'x-goog-iap-jwt-assertion', 'x-ms-token-aad-access-token', 'dpop'],
])

/** Query and form parameters (RFC 6749, RFC 6750, presigned cloud URLs, convention). */
const PARAMETERS: ReadonlySet<string> = new Set([
  ...['access_token', 'accesstoken', 'id_token', 'id_token_hint', 'refresh_token', 'token', 'auth_token', 'authtoken'],
  ...[
    'session_token',
    'private_token',
    'jwt',
    'assertion',
    'client_assertion',
    'client_secret',
    'code',
    'code_verifier',
  ],
  ...['api-key', 'api_key', 'apikey', 'x-api-key', 'x_api_key', 'key', 'subscription-key', 'auth', 'authorization'],
  ...['password', 'passwd', 'pwd', 'secret', 'sig', 'signature', 'credential'],
  ...['x-amz-signature', 'x-amz-security-token', 'x-amz-credential', 'awsaccesskeyid'],
  ...['x-goog-signature', 'x-goog-credential', 'x-auth-token', 'x-access-token'],
])

/** Case-insensitive. */
export function isCredentialHeader(name: string): boolean {
  return HEADERS.has(name.toLowerCase())
}

/** `name` is a decoded query parameter; case-insensitive. */
export function isCredentialParameter(name: string): boolean {
  return PARAMETERS.has(name.toLowerCase())
}

/** All of them, in lower case. */
export function credentialHeaders(): Iterable<string> {
  return HEADERS
}

/** The claims of a JSON Web Token without verification; undefined for any other text. */
export function unverifiedClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  const [, payload, , more] = token.split('.', 4)
  if (payload === undefined || more !== undefined) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

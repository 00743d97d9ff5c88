import type { HeaderList } from '../../../http/headers.ts'

/** Why a target refuses a token (RFC 6750, RFC 9728). */
export interface Challenge {
  readonly error?: string | undefined
  readonly scopes?: readonly string[] | undefined
  /** Where it describes itself. */
  readonly document?: string | undefined
}

export function challengeIn(headers: HeaderList): Challenge {
  const field = headers.getAll('www-authenticate').find(value => /(?:^|,\s*)bearer\b/i.test(value)) ?? ''
  const scopes = parameter(field, 'scope')?.split(' ').filter(isScope)
  return {
    error: parameter(field, 'error'),
    document: parameter(field, 'resource_metadata'),
    scopes: scopes && scopes.length > 0 ? scopes : undefined,
  }
}

/** RFC 6749, 3.3. */
export function isScope(text: unknown): text is string {
  return typeof text === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/.test(text)
}

function parameter(field: string, name: string): string | undefined {
  const [, quoted, bare] = new RegExp(`[\\s,]${name}\\s*=\\s*(?:"([^"]*)"|([^\\s,"]+))`, 'i').exec(field) ?? []
  return quoted ?? bare
}

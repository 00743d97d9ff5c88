import type { WholeReply } from '../../calls/dispatch.ts'
import type { Dated } from '../fresh.ts'

/** The members of a JSON object. Throws an error that does not quote the text. */
export function membersOf(text: string, whose: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error(`${whose} is not JSON`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${whose} is not a JSON object`)
  }
  return value as Record<string, unknown>
}

export function repliedMembers({ body }: WholeReply, whose: string): Readonly<Record<string, unknown>> {
  return membersOf(body.toString('utf8'), `the answer of ${whose}`)
}

/** s: a cap above any token lifetime in use, and the assumed lifetime of a token without one. */
const LONGEST = 25 * 3600
const UNTOLD = 300

/** The OAuth 2.0 error code (RFC 6749, 5.2), which contains nothing of the request. */
export function oauthErrorIn({ body }: WholeReply): string | undefined {
  return /"error"\s*:\s*"([a-z_]{1,64})"/.exec(body.toString('latin1', 0, 4096))?.[1]
}

/**
 * An OAuth 2.0 token response (RFC 6749, 5.1), or one with an expiry in seconds since the epoch. `untold`: the assumed
 * lifetime in seconds if none is given.
 */
export function accessTokenIn(
  members: Readonly<Record<string, unknown>>,
  whose: string,
  now: number,
  untold = UNTOLD,
): Dated<string> {
  const { access_token: token, expires_in: life, expires_on: end } = members
  const left = secondsOf(life) ?? (secondsOf(end) === undefined ? untold : (secondsOf(end) as number) - now / 1000)
  return { value: tokenText(token, whose), expiresAt: now + checkedLife(left, whose) * 1000 }
}

/** A JSON Web Token, which contains its own expiry. */
export function identityTokenIn(token: unknown, whose: string, now: number): Dated<string> {
  const value = tokenText(token, whose)
  const { exp } = membersOf(
    Buffer.from(value.split('.')[1] ?? '', 'base64url').toString('utf8'),
    `the ID token of ${whose}`,
  )
  const left = typeof exp === 'number' ? exp - now / 1000 : UNTOLD
  return { value, expiresAt: now + checkedLife(left, whose) * 1000 }
}

/** A token is one word, so that it cannot end the header field that it is written to. */
export function tokenText(token: unknown, whose: string): string {
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) throw new Error(`the answer of ${whose} has no token`)
  return token
}

function checkedLife(seconds: number, whose: string): number {
  if (!(seconds > 0)) throw new Error(`the token of ${whose} has ended already`)
  return Math.min(seconds, LONGEST)
}

/** Some services send numbers as text. */
function secondsOf(value: unknown): number | undefined {
  const seconds = typeof value === 'string' && /^\d{1,12}$/.test(value) ? Number(value) : value
  return typeof seconds === 'number' && Number.isFinite(seconds) ? seconds : undefined
}

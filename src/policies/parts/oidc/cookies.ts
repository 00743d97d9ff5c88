import type { FieldChange } from '../../../http/field-change.ts'
import type { HeaderList } from '../../../http/headers.ts'

/** All cookies of sign-ins begin so, behind `__Host-` where the browser comes over TLS. */
export const RESERVED = 'agw_oidc_'
/** Browsers drop cookies of more than 4,096 bytes with their name and attributes. */
const LONGEST_VALUE = 3800
/** With more of them servers refuse the head of the request. */
const MOST_CHUNKS = 3

/** Values by name of one policy's cookies in a request. A name that comes twice has none: another host may have set one. */
export function cookiesOf(headers: HeaderList, prefix: string): ReadonlyMap<string, string> {
  const out = new Map<string, string>()
  const twice: string[] = []
  for (const pair of pairsOf(headers)) {
    const at = pair.indexOf('=')
    const name = pair.slice(0, at).trim()
    if (at < 0 || !name.startsWith(prefix)) continue
    if (out.has(name)) twice.push(name)
    out.set(name, pair.slice(at + 1).trim())
  }
  for (const name of twice) out.delete(name)
  return out
}

/** Takes cookies out of a request, by their names. */
export function dropCookies(headers: HeaderList, drops: (name: string) => boolean): void {
  const all = pairsOf(headers)
  const kept = all.filter(pair => !drops(pair.split('=', 1)[0]!.trim()))
  if (kept.length === all.length) return
  const text = kept.map(pair => pair.trim()).filter(pair => pair !== '')
  if (text.length > 0) headers.set('cookie', text.join('; '))
  else headers.delete('cookie')
}

/** No backend gets the cookies of sign-ins, whatever route they are for: whoever has them is signed in. */
export function keepCookiesHere(headers: HeaderList): void {
  const sent = headers.get('cookie')?.includes(RESERVED)
  if (sent) dropCookies(headers, name => name.replace(/^__Host-/, '').startsWith(RESERVED))
}

function pairsOf(headers: HeaderList): readonly string[] {
  return headers.getAll('cookie').flatMap(header => header.split(';'))
}

/** The value that `chunksOf` has cut; undefined without one. */
export function joinedValue(cookies: ReadonlyMap<string, string>, name: string): string | undefined {
  let value = ''
  for (let i = 0; i < MOST_CHUNKS; i++) {
    const chunk = cookies.get(`${name}.${i}`)
    if (chunk === undefined) break
    value += chunk
  }
  return value === '' ? undefined : value
}

/** `Set-Cookie` values for `value`, also those that remove chunks of an earlier one; undefined when it is too long. */
export function chunksOf(name: string, value: string, maxAge: number, secure: boolean): readonly string[] | undefined {
  const count = Math.ceil(value.length / LONGEST_VALUE)
  if (count > MOST_CHUNKS) return undefined
  return Array.from({ length: MOST_CHUNKS }, (_, i) => {
    const chunk = value.slice(i * LONGEST_VALUE, (i + 1) * LONGEST_VALUE)
    return setCookie(`${name}.${i}`, chunk, chunk === '' ? 0 : maxAge, secure)
  })
}

/** `maxAge` in s; 0 removes it. For this host alone, and not sent along by pages of others, except when they link here. */
export function setCookie(name: string, value: string, maxAge: number, secure: boolean): string {
  return `${name}=${value}; Path=/; Max-Age=${Math.floor(maxAge)}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}

/** As header fields of a reply. */
export function cookieFields(cookies: readonly string[]): readonly string[] {
  return cookies.flatMap(cookie => ['set-cookie', cookie])
}

/** For a response that comes from elsewhere. */
export function cookieChanges(cookies: readonly string[]): readonly FieldChange[] {
  return cookies.map(value => ({ name: 'set-cookie', value, action: 'append' }))
}

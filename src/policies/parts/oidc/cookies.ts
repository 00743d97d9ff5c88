import type { FieldChange } from '../../../http/field-change.ts'
import type { HeaderList } from '../../../http/headers.ts'

/** Prefix of all sign-in cookies, after `__Host-` if the browser connects over TLS. */
export const RESERVED = 'agw_oidc_'
/** Browsers drop cookies of more than 4,096 bytes including name and attributes. */
const MAX_VALUE = 3800
/** With more chunks, servers reject the request head. */
const MAX_CHUNKS = 3

/** Values by name of one policy's cookies in a request. A repeated name has none: another host may have set one. */
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

/** Removes cookies from a request by name. */
export function dropCookies(headers: HeaderList, drops: (name: string) => boolean): void {
  const all = pairsOf(headers)
  const kept = all.filter(pair => !drops(pair.split('=', 1)[0]!.trim()))
  if (kept.length === all.length) return
  const text = kept.map(pair => pair.trim()).filter(pair => pair !== '')
  if (text.length > 0) headers.set('cookie', text.join('; '))
  else headers.delete('cookie')
}

/** Sign-in cookies are never forwarded to any backend: they are bearer credentials. */
export function keepCookiesHere(headers: HeaderList): void {
  const sent = headers.get('cookie')?.includes(RESERVED)
  if (sent) dropCookies(headers, name => name.replace(/^__Host-/, '').startsWith(RESERVED))
}

function pairsOf(headers: HeaderList): readonly string[] {
  return headers.getAll('cookie').flatMap(header => header.split(';'))
}

/** Reassembles a value split by `chunksOf`; undefined if absent. */
export function joinedValue(cookies: ReadonlyMap<string, string>, name: string): string | undefined {
  let value = ''
  for (let i = 0; i < MAX_CHUNKS; i++) {
    const chunk = cookies.get(`${name}.${i}`)
    if (chunk === undefined) break
    value += chunk
  }
  return value === '' ? undefined : value
}

/** `Set-Cookie` values for `value`, and for removing chunks of an earlier one; undefined if it is too long. */
export function chunksOf(name: string, value: string, maxAge: number, secure: boolean): readonly string[] | undefined {
  const count = Math.ceil(value.length / MAX_VALUE)
  if (count > MAX_CHUNKS) return undefined
  return Array.from({ length: MAX_CHUNKS }, (_, i) => {
    const chunk = value.slice(i * MAX_VALUE, (i + 1) * MAX_VALUE)
    return setCookie(`${name}.${i}`, chunk, chunk === '' ? 0 : maxAge, secure)
  })
}

/** `maxAge` in s; 0 removes it. Restricted to this host, and not sent cross-site except on links here. */
export function setCookie(name: string, value: string, maxAge: number, secure: boolean): string {
  return `${name}=${value}; Path=/; Max-Age=${Math.floor(maxAge)}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}

/** As header fields of a reply. */
export function cookieFields(cookies: readonly string[]): readonly string[] {
  return cookies.flatMap(cookie => ['set-cookie', cookie])
}

/** For a response produced elsewhere. */
export function cookieChanges(cookies: readonly string[]): readonly FieldChange[] {
  return cookies.map(value => ({ name: 'set-cookie', value, action: 'append' }))
}

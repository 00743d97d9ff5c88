import { ipVersion } from '../../../http/ip-version.ts'
import { type ObjectProblem, serverRule } from '../../../schema/builder.ts'
import { problem } from '../../../schema/rules.ts'

/** A model's address: absolute, without user, query or fragment, and never an address of the gateway itself. */
export function checkBaseUrl(value: Record<string, unknown>): readonly ObjectProblem[] {
  const text = value.baseURL
  if (typeof text !== 'string') return []
  const message = urlProblem(text)
  return message === undefined ? [] : [problem(['baseURL'], message, { at: 'value' })]
}

/** A rule on the host only: for an API server, patterns are cheaper than parsing the URL. */
const hostMatches = (pattern: string) => `self.baseURL.matches('(?i)^https?://(${pattern})(:[0-9]*)?(/|$)')`
const BYTE = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
const OWN_HOSTS = [
  '([^/]*[.])?localhost[.]?',
  '(127|169[.]254)[.][^/:]*',
  '0[.]0[.]0[.]0[.]?',
  '.(::1?|fe[89ab][^/]*|::ffff:(7f..:|a9fe:|0:|127[.]|169[.]254[.]|0[.]0[.]0[.])[^/]*).',
].join('|')
export const baseUrlRules = [
  serverRule('!has(self.baseURL) || isURL(self.baseURL)', 'baseURL must be a URL'),
  serverRule(
    "!has(self.baseURL) || !self.baseURL.matches('[?#]|^https?://[^/]*@')",
    'baseURL takes no user, query or fragment',
  ),
  serverRule(
    `!has(self.baseURL) || !${hostMatches(OWN_HOSTS)}`,
    'baseURL must not name the gateway itself or its link',
  ),
  serverRule(
    `!has(self.baseURL) || !${hostMatches('([^/:]*[.])?(0x[0-9a-f]*|[0-9]+)[.]?')} || ${hostMatches(`(${BYTE}[.]){3}${BYTE}`)}`,
    'baseURL must write an IPv4 address as four decimal numbers',
  ),
]

function urlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return '`baseURL` is not a URL'
  const url = new URL(text)
  if (url.username !== '' || url.password !== '' || /^https?:\/\/[^/]*@/.test(text)) {
    return '`baseURL` names a user: write credentials to `policies.auth`'
  }
  if (text.includes('?')) return '`baseURL` has a query: only address and base path belong here'
  if (text.includes('#')) return '`baseURL` has a fragment: only address and base path belong here'
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (host === 'localhost' || host.endsWith('.localhost') || isOwn(host)) {
    return `\`${host}\` means the gateway itself or its link: name the model server`
  }
  const written = /^https?:\/\/(?:\[[^\]]*\]|[^:/]*)/.exec(text)?.[0].replace(/^https?:\/\//, '') ?? ''
  return ipVersion(host) === 4 && written !== host
    ? `\`${written}\` is an ambiguous way to write the address ${host}`
    : undefined
}

/** Loopback, link-local and unspecified addresses, also IPv4 ones embedded in IPv6. */
function isOwn(host: string): boolean {
  if (ipVersion(host) === 4) return host.startsWith('127.') || host.startsWith('169.254.') || host === '0.0.0.0'
  if (ipVersion(host) !== 6) return false
  if (host === '::1' || host === '::' || /^fe[89ab]/i.test(host)) return true
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(host)
  if (!mapped) return false
  const [high, low] = [Number.parseInt(mapped[1]!, 16), Number.parseInt(mapped[2]!, 16)]
  return isOwn([high >> 8, high & 255, low >> 8, low & 255].join('.'))
}

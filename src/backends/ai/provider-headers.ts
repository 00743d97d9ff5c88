import type { HeaderList } from '../../http/headers.ts'
import type { ProviderTarget } from './provider-target.ts'
import type { Credential, WireFamily } from './providers/provider.ts'

/** Client credentials for any provider; none of them is sent alongside a configured key. */
const CREDENTIALS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']

export function upstreamHeaders(
  received: HeaderList,
  { wire, key, replacesCredentials }: ProviderTarget,
  family: WireFamily,
): HeaderList {
  const headers = received.copy()
  if (replacesCredentials) for (const name of CREDENTIALS) headers.delete(name)
  if (wire.credential === 'bearer') {
    if (key !== undefined) headers.set('authorization', `Bearer ${key}`)
  } else moveKey(headers, wire.credential, key)
  for (const name in family.headers) if (!headers.has(name)) headers.append(name, family.headers[name] as string)
  if (wire.dropHeaders) dropHeaders(headers, wire.dropHeaders)
  return headers
}

/** Tokens that their provider accepts as bearer tokens: Anthropic subscriptions, Google and Entra ID access tokens. */
const BEARER_TOKENS: Readonly<Record<Credential, RegExp>> = {
  bearer: /^/,
  'x-api-key': /^sk-ant-oat/,
  'x-goog-api-key': /^(?!AIza)/,
  'api-key': /^eyJ/,
}

/** Puts a key into the header where the provider expects it. */
function moveKey(headers: HeaderList, name: Credential, key: string | undefined): void {
  const sent = /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '')?.[1]
  const token = key ?? sent
  if (token === undefined) return
  if (BEARER_TOKENS[name].test(token)) {
    headers.delete(name)
    headers.set('authorization', `Bearer ${token}`)
    return
  }
  headers.delete('authorization')
  headers.set(name, token)
}

export function dropHeaders(headers: HeaderList, drop: readonly string[]): void {
  for (const name of headers.names()) {
    if (drop.some(pattern => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern))) {
      headers.delete(name)
    }
  }
}

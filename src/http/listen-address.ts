import { ipVersion } from './ip-version.ts'

/** Where a server listens. `localhost` means both loopback addresses. */
export type ListenAddress =
  | { readonly kind: 'off' }
  | { readonly kind: 'tcp'; readonly hosts: readonly string[]; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

/** Parses `IP:PORT`, `[IPv6]:PORT`, `localhost:PORT`, `unix:/PATH` and `off`; undefined for anything else. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  if (text === 'off') return { kind: 'off' }
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length)
    return path.startsWith('/') ? { kind: 'unix', path } : undefined
  }
  const [, host = '', digits = ''] = /^(.+):(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  if (host === '' || port > 65535) return undefined
  if (host === 'localhost') return { kind: 'tcp', hosts: ['127.0.0.1', '::1'], port }
  const bare = /^\[(.*)\]$/.exec(host)?.[1]
  if (bare !== undefined) return ipVersion(bare) === 6 ? { kind: 'tcp', hosts: [bare], port } : undefined
  return ipVersion(host) === 4 ? { kind: 'tcp', hosts: [host], port } : undefined
}

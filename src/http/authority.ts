/** Host and port of an authority; `host` keeps the brackets of an IPv6 address. */
export interface Authority {
  readonly host: string
  /** Undefined if absent. */
  readonly port: number | undefined
}

const AUTHORITY = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9._])?)(?::(\d{1,5}))?$/

/** Undefined unless the text is `host` or `host:port`. */
export function parseAuthority(text: string): Authority | undefined {
  const match = AUTHORITY.exec(text)
  if (!match) return undefined
  const port = match[2] === undefined ? undefined : Number(match[2])
  return port === 0 || (port !== undefined && port > 65535) ? undefined : { host: match[1] as string, port }
}

const PORT = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d\\d|655[0-2]\\d|6553[0-5])'
const NAME = "[a-z0-9_~!$&'()+;=-]+"
/** Already canonical: every parser reads it the same way. */
const PLAIN = new RegExp(`^[a-z0-9_-]+(?:\\.[a-z0-9_-]+)*(?::${PORT})?$`)
/** RFC 3986 section 3.2 without userinfo, percent-encoding, comma and star, on which two parsers could disagree. */
const WRITTEN = new RegExp(`^(?:(\\[[0-9a-f:.]+\\])|(${NAME}(?:\\.${NAME})*)\\.?)(:${PORT}|:)?$`, 'i')

/**
 * Canonicalizes a client's authority for routes, rules and backends: lower case, no trailing dot on the host, no colon
 * without a port. Undefined if two parsers could read different hosts; such a request is rejected.
 */
export function readAuthority(text: string): string | undefined {
  if (PLAIN.test(text)) return text
  const parts = WRITTEN.exec(text)
  if (parts === null) return undefined
  const [, address, name, port = ''] = parts
  const host = (address ?? (name as string)).toLowerCase()
  return port === ':' ? host : `${host}${port}`
}

/** The host of an authority exactly as the client sent it: everything before the port. */
export function hostOf(authority: string): string {
  const colon = authority.lastIndexOf(':')
  return colon > authority.lastIndexOf(']') ? authority.slice(0, colon) : authority
}

/** The digits after the host, or empty. */
export function portOf(authority: string): string {
  return authority.slice(hostOf(authority).length + 1)
}

export function defaultPort(scheme: string): number | undefined {
  return scheme === 'http' || scheme === 'ws' ? 80 : scheme === 'https' || scheme === 'wss' ? 443 : undefined
}

/** `host:port`, with an IPv6 address in brackets. */
export function hostAndPort(host: string, port: number): string {
  return `${bracketed(host)}:${port}`
}

/** The authority to send to a target, without the scheme's default port. */
export function authorityOf({ host, port, unixPath, tls }: Callable): string {
  if (unixPath !== undefined) return 'localhost'
  return port === defaultPort(tls === undefined ? 'http' : 'https') ? bracketed(host) : hostAndPort(host, port)
}

interface Callable {
  readonly host: string
  readonly port: number
  readonly unixPath?: string
  readonly tls?: object
}

function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

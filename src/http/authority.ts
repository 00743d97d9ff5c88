/** Host and port of an authority; `host` keeps the brackets of an IPv6 address. */
export interface Authority {
  readonly host: string
  /** Undefined when none is written. */
  readonly port: number | undefined
}

const AUTHORITY = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9._])?)(?::(\d{1,5}))?$/

/** Undefined for text that is no `host` or `host:port`. */
export function parseAuthority(text: string): Authority | undefined {
  const match = AUTHORITY.exec(text)
  if (!match) return undefined
  const port = match[2] === undefined ? undefined : Number(match[2])
  return port === 0 || (port !== undefined && port > 65535) ? undefined : { host: match[1] as string, port }
}

const PORT = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d\\d|655[0-2]\\d|6553[0-5])'
const NAME = "[a-z0-9_~!$&'()+;=-]+"
/** In the form that every reader takes alike. */
const PLAIN = new RegExp(`^[a-z0-9_-]+(?:\\.[a-z0-9_-]+)*(?::${PORT})?$`)
/** RFC 3986 section 3.2 without user, percent-encoding, comma and star: two readers could take those for two hosts. */
const WRITTEN = new RegExp(`^(?:(\\[[0-9a-f:.]+\\])|(${NAME}(?:\\.${NAME})*)\\.?)(:${PORT}|:)?$`, 'i')

/**
 * An authority from a client in the one form that routes, rules and backends see: lower case, no dot behind the host, no
 * colon without a port. Undefined where two readers could take it for two hosts: such a request is refused.
 */
export function readAuthority(text: string): string | undefined {
  if (PLAIN.test(text)) return text
  const parts = WRITTEN.exec(text)
  if (parts === null) return undefined
  const [, address, name, port = ''] = parts
  const host = (address ?? (name as string)).toLowerCase()
  return port === ':' ? host : `${host}${port}`
}

/** The host of an authority as a client sent it, whatever it is: everything before the port. */
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

/** What a place is called by in a request, without the port that its scheme implies. */
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

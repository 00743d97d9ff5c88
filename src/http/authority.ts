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

/** Characters that no authority has, and by which it could be read as a path or with a user name; or no number as port. */
const UNSAFE = /[\s/@?#\\]|:\d*[^\]\d:][^\]:]*$/

/** Whether two readers could take what a client sent as its authority for two hosts: such a request is refused. */
export function isUnsafeAuthority(text: string): boolean {
  return UNSAFE.test(text)
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

import { defaultPort } from './authority.ts'

/** The parts of an `Origin` header, in lower case; `port` defaults to the scheme's, or 0 if it has none. */
export interface WebOrigin {
  readonly scheme: string
  readonly host: string
  readonly port: number
}

const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/(\[[0-9a-f:.]+\]|[^\s/?#@:[\]\\]+)(?::(\d{1,5}))?$/

/** Undefined unless the text is `scheme://host[:port]`; `null`, for instance, is not. */
export function parseOrigin(text: string): WebOrigin | undefined {
  const match = ORIGIN.exec(text.toLowerCase())
  if (!match) return undefined
  const scheme = match[1] as string
  return {
    scheme,
    host: match[2] as string,
    port: match[3] === undefined ? (defaultPort(scheme) ?? 0) : Number(match[3]),
  }
}

/** Canonical form: lower case, without the scheme's default port. */
export function originText({ scheme, host, port }: WebOrigin): string {
  return port === 0 || port === defaultPort(scheme) ? `${scheme}://${host}` : `${scheme}://${host}:${port}`
}

import { defaultPort } from './authority.ts'

/** The parts of an `Origin` header, in lower case; `port` is the scheme's own one when none is written, 0 if it has none. */
export interface WebOrigin {
  readonly scheme: string
  readonly host: string
  readonly port: number
}

const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/(\[[0-9a-f:.]+\]|[^\s/?#@:[\]\\]+)(?::(\d{1,5}))?$/

/** Undefined for anything that is not `scheme://host[:port]`, such as `null`. */
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

/** One spelling per origin: lower case, no port that the scheme implies. */
export function originText({ scheme, host, port }: WebOrigin): string {
  return port === 0 || port === defaultPort(scheme) ? `${scheme}://${host}` : `${scheme}://${host}:${port}`
}

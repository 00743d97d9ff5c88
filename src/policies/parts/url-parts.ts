import { hostOf, parseAuthority } from '../../http/authority.ts'
import { GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import { type Infer, object, oneOf, opt, parsed, shapes, string } from '../../schema/builder.ts'
import { port } from '../../schema/scalars.ts'

const host = parsed(
  string({ min: 1, max: 256 }),
  'a host name or address',
  text => (parseAuthority(text)?.port === undefined && parseAuthority(text) ? { value: text } : noHost(text)),
  'localhost',
)
const hostAndPort = parsed(
  string({ min: 1, max: 256 }),
  '`host` or `host:port`',
  text =>
    parseAuthority(text) ? { value: text } : { problem: { message: `\`${text}\` is not \`host\` or \`host:port\`` } },
  'localhost',
)

function noHost(text: string) {
  const withPort = parseAuthority(text)
  return {
    problem: {
      message: `\`${text}\` is not a host`,
      ...(withPort ? { help: 'use `full` for a host with a port', suggestion: withPort.host } : {}),
    },
  }
}

/** How to change the authority. */
export const authorityPart = shapes({
  string: oneOf(['auto', 'none']),
  object: object(
    'authority',
    {
      full: opt(hostAndPort, 'Host, with an optional port.'),
      host: opt(host, 'The host.'),
      port: opt(port, 'The port; the host is kept.'),
    },
    { exactlyOneOf: [['full', 'host', 'port']], textMeans: 'full' },
  ),
})
export type AuthorityPart = Infer<typeof authorityPart>

/** How to change the path. */
export const pathPart = object(
  'path',
  {
    full: opt(pathText('a path starting with `/`', /^\/[!"$-[\]-~]*$/), 'Replaces the whole path; the query is kept.'),
    prefix: opt(
      pathText('a path starting with `/`, without a query', /^(\/[!"$->@-[\]-~]*)?$/),
      'Replaces the prefix that the route matched.',
    ),
  },
  { exactlyOneOf: [['full', 'prefix']], textMeans: 'full' },
)
export type PathPart = Infer<typeof pathPart>

function pathText(form: string, pattern: RegExp) {
  return parsed(
    string({ max: 1024 }),
    form,
    text => {
      if (pattern.test(text)) return { value: text }
      const suggestion = `/${text}`
      return {
        problem: { message: `\`${text}\` is not ${form}`, ...(pattern.test(suggestion) ? { suggestion } : {}) },
      }
    },
    '/',
  )
}

/** Returns the changed path and query. Throws `filterFailed` for a prefix if the route did not match by one. */
export type PathChange = (x: Exchange) => string

export function compilePath(spec: PathPart | undefined): PathChange {
  if (spec === undefined) return x => x.request.path
  const { full, prefix } = spec
  if (full !== undefined) return x => full + queryAfter(x.request.path, full.includes('?'))
  const joint = (prefix as string).replace(/\/+$/, '')
  const alone = prefix === '' ? '/' : (prefix as string)
  return x => replacePrefix(x, joint, alone)
}

function replacePrefix(x: Exchange, joint: string, alone: string): string {
  if (x.matchedPrefix === undefined) {
    throw new GatewayError('filterFailed', { detail: 'replacing a path prefix needs a route that matches by prefix' })
  }
  const { path } = x.request
  const length = x.matchedPrefix.endsWith('/') ? x.matchedPrefix.length - 1 : x.matchedPrefix.length
  if (!path.startsWith(length === x.matchedPrefix.length ? x.matchedPrefix : x.matchedPrefix.slice(0, length))) {
    throw new GatewayError('filterFailed', {
      detail: 'the path no longer starts with the prefix that the route matched',
    })
  }
  const next = path.charCodeAt(length)
  if (next === SLASH) return joint + path.slice(length)
  if (length === path.length || next === QUESTION) return alone + path.slice(length)
  throw new GatewayError('filterFailed', { detail: 'the path no longer starts with the prefix that the route matched' })
}

const SLASH = 0x2f
const QUESTION = 0x3f

function queryAfter(path: string, more: boolean): string {
  const at = path.indexOf('?')
  if (at < 0) return ''
  return more ? `&${path.slice(at + 1)}` : path.slice(at)
}

/** The request's authority with another port. */
export function withPort(authority: string, number: number): string {
  return `${hostOf(authority)}:${number}`
}

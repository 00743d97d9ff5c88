import { integer, object, opt, parsed, type Schema, secret, shapes, string, urlText } from './builder.ts'
import { withoutSecrets } from './conceal-in-url.ts'

/** The scalar types of the specification, "Conventions". */
export const shortString = string({ min: 1, max: 256 })
export const longString = string({ min: 1, max: 1024 })
export const tinyString = string({ min: 1, max: 64 })
export const port = integer(1, 65535)
const OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
export const ipAddress = string({
  max: 45,
  pattern: new RegExp(`^(?:(?:${OCTET}\\.){3}${OCTET}|[0-9a-fA-F]*:[0-9a-fA-F:.]+)$`),
  form: 'an IP address',
})
export const headerName = string({
  min: 1,
  max: 256,
  pattern: /^:?[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/,
  form: 'a header name',
})
const objectName = string({
  min: 1,
  max: 253,
  pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  form: 'a name of lower-case letters, digits, `-` and `.`',
})
export const sectionName = objectName

export function statusCode(min = 200, max = 599): Schema<number> {
  return integer(min, max)
}

const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

/** `1h30m`, `250ms` → milliseconds. Bare and negative numbers are rejected. */
export const duration: Schema<number> = parsed(
  shapes({ string: string(), number: parsedNumber() }),
  'a duration such as `30s` or `5m`',
  value => {
    const ms = typeof value === 'string' ? parseDuration(value) : undefined
    if (ms !== undefined) return { value: ms }
    if (typeof value === 'string' && /^\d+(\.\d+)?$/.test(value)) return { problem: unitMissing(value) }
    if (typeof value === 'number') return { problem: unitMissing(String(value)) }
    const plain = shortUnits(value)
    if (plain !== undefined && parseDuration(plain) !== undefined)
      return {
        problem: { message: `\`${clip(value)}\` is not a duration`, help: `write \`${plain}\``, suggestion: plain },
      }
    if (value.startsWith('-')) return { problem: { message: `\`${value}\` is negative: a duration is zero or more` } }
    return {
      problem: {
        message: `\`${clip(value)}\` is not a duration`,
        help: 'write a number and a unit: ns, us, ms, s, m or h',
      },
    }
  },
  60_000,
  {
    type: 'string',
    pattern: '^(0|((\\d+(\\.\\d*)?|\\.\\d+)(ns|us|µs|μs|ms|s|m|h))+)$',
  },
)

/** Rewrites `10sec` and `5 minutes` with supported units; undefined if it contains any other word. */
function shortUnits(text: string): string | undefined {
  if (!/^(?:\d+(?:\.\d+)?\s*[a-z]+\s*)+$/i.test(text)) return undefined
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/gi)].map(([, amount, word]) => {
    const unit = WORDS.find(([words]) => words.test(word!))?.[1]
    if (unit === 'd') return `${Number(amount) * 24}h`
    return unit === undefined ? undefined : `${amount}${unit}`
  })
  return parts.includes(undefined) ? undefined : parts.join('')
}

const WORDS: readonly (readonly [words: RegExp, unit: string])[] = [
  [/^(?:ms|millis|msecs?|milliseconds?)$/i, 'ms'],
  [/^(?:s|secs?|seconds?)$/i, 's'],
  [/^(?:m|mins?|minutes?)$/i, 'm'],
  [/^(?:h|hrs?|hours?)$/i, 'h'],
  [/^(?:d|days?)$/i, 'd'],
]

function parsedNumber(): Schema<number> {
  return { node: { kind: 'number', min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY } }
}

function unitMissing(value: string) {
  return {
    message: `\`${value}\` has no unit`,
    help: `write \`${value}s\` for seconds or \`${value}ms\` for milliseconds`,
    suggestion: `${value}s`,
  }
}

export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0
  // Fast path: nearly every duration is one of these.
  const simple = /^(\d+)(ms|s|m|h)$/.exec(text)
  if (simple) return Number(simple[1]) * UNITS[simple[2]!]!
  if (!/^(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))*$/.test(text))
    return undefined
  let total = 0
  for (const [, amount, unit] of text.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g))
    total += Number(amount) * UNITS[unit!]!
  return total
}

/** Milliseconds → the shortest spelling that parses to the same value: `1m30s`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s'
  if (ms < 1) return `${ms * 1000}us`
  if (ms < 1000) return `${ms}ms`
  const hours = Math.floor(ms / 3_600_000)
  const minutes = Math.floor((ms % 3_600_000) / 60_000)
  const seconds = (ms % 60_000) / 1000
  return `${hours > 0 ? `${hours}h` : ''}${minutes > 0 ? `${minutes}m` : ''}${seconds > 0 ? `${seconds}s` : ''}`
}

/** Kubernetes quantity suffixes. */
export const QUANTITY_UNITS: Readonly<Record<string, number>> = {
  '': 1,
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

/** `2Mi`, `10k`, `1e6`, `4096` → bytes, rounded up. */
export const byteSize: Schema<number> = parsed(
  shapes({ string: string({ min: 1, max: 32 }), number: integer(0) }),
  'a size such as `2Mi`, `10k` or `4096`',
  value => {
    if (typeof value === 'number') return { value }
    const bytes = parseByteSize(value)
    if (bytes === undefined)
      return {
        problem: {
          message: `\`${clip(value)}\` is not a size`,
          help: 'write a number, with Ki, Mi, Gi or k, M, G behind it if needed',
        },
      }
    return { value: bytes }
  },
  1024,
  {
    type: ['string', 'integer'],
    minimum: 0,
    minLength: 1,
    maxLength: 32,
    pattern: '^(\\d+(\\.\\d*)?|\\.\\d+)([eE][+-]?\\d+|n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$',
  },
)

/** Undefined unless the text is a size. */
export function parseByteSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d*)?|\.\d+)(?:([eE][+-]?\d+)|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei))?$/.exec(text)
  return match ? Math.ceil(Number(match[1]! + (match[2] ?? '')) * QUANTITY_UNITS[match[3] ?? '']!) : undefined
}

export type FileOrInline = { readonly inline: string } | { readonly file: string }
/** Inline text, or the path of a file that contains it. */
export function fileOrInline(options: { readonly secret?: boolean | 'inUrl' } = {}): Schema<FileOrInline> {
  const text = options.secret === 'inUrl' ? urlText({ min: 1 }) : options.secret ? secret() : string({ min: 1 })
  return parsed(
    shapes({
      string: text,
      object: object(
        'file reference',
        { file: opt(string({ min: 1 }), 'Path, relative to the configuration file.') },
        { exactlyOneOf: [['file']] },
      ),
    }),
    'text, or `file` with a path',
    value => ({ value: typeof value === 'string' ? { inline: value } : { file: value.file as string } }),
    { inline: '' },
  )
}

const HOST = '(\\[[0-9a-fA-F:.%]+\\]|[A-Za-z0-9._-]+)'

export interface HostPort {
  readonly host: string
  /** 0 if `unixPath` is set. */
  readonly port: number
  readonly unixPath?: string
}
/** `name:port`, `ip:port`, `[v6]:port`, `unix:/path`; no scheme. */
export const hostPort: Schema<HostPort> = parsed(
  urlText({ min: 1, max: 1024 }),
  '`host:port` or `unix:/path`',
  value => {
    const result = parseHostPort(value)
    return typeof result === 'string'
      ? { problem: { message: result, label: 'expected host:port' } }
      : { value: result }
  },
  { host: 'localhost', port: 80 },
  { type: 'string', maxLength: 1024, pattern: `^(unix:.+|${HOST}:\\d{1,5})$` },
)

export interface HttpAddress extends HostPort {
  readonly scheme: 'http' | 'https' | undefined
}
/** `hostPort`, or an `http://` or `https://` URL without a path; the scheme then implies the default port. */
export const httpAddress: Schema<HttpAddress> = parsed<string, HttpAddress>(
  urlText({ min: 1, max: 1024 }),
  '`host:port`, or `http(s)://host[:port]` without a path',
  value => {
    const scheme = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/i.exec(value)
    if (!scheme) {
      const plain = parseHostPort(value)
      return typeof plain === 'string' ? { problem: { message: plain } } : { value: { ...plain, scheme: undefined } }
    }
    const name = scheme[1]!.toLowerCase()
    if (name !== 'http' && name !== 'https')
      return { problem: { message: `the scheme \`${scheme[1]}\` is not http or https` } }
    const rest = scheme[2]!.replace(/\/$/, '')
    if (/[/?#]/.test(rest))
      return { problem: { message: `\`${clipUrl(value)}\` has a path: only scheme, host and port belong here` } }
    const parsedHost = parseHostPort(/:\d+$/.test(rest) ? rest : `${rest}:${name === 'https' ? 443 : 80}`)
    return typeof parsedHost === 'string'
      ? { problem: { message: parsedHost } }
      : { value: { ...parsedHost, scheme: name } }
  },
  { host: 'localhost', port: 80, scheme: undefined },
  { type: 'string', maxLength: 1024, pattern: `^(unix:.+|${HOST}:\\d{1,5}|https?://${HOST}(:\\d{1,5})?/?)$` },
)

export function parseHostPort(text: string): HostPort | string {
  if (text.startsWith('unix:')) {
    const path = text.slice(5)
    return path.length > 0 ? { host: 'localhost', port: 0, unixPath: path } : 'the socket path after `unix:` is empty'
  }
  if (text.includes('://'))
    return `\`${clipUrl(text)}\` has a scheme: write \`${clipUrl(text.replace(/^[^:]*:\/\/([^/]*@)?/, '').replace(/\/.*$/, ''))}\` with a port, without the scheme`
  const match = /^(\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/.exec(text)
  if (!match)
    return /^[A-Za-z0-9._-]+$/.test(text)
      ? `\`${clipUrl(text)}\` has no port: write \`${clipUrl(text)}:80\`, for example`
      : `\`${clipUrl(text)}\` is not host:port`
  const number = Number(match[2])
  if (number < 1 || number > 65535) return `port ${match[2]} is out of range: must be 1 to 65535`
  return { host: match[1]!.replace(/^\[|\]$/g, ''), port: number }
}

/** An absolute URL with one of the `schemes`. */
export function url(schemes: readonly string[] = ['http', 'https']): Schema<URL> {
  return parsed(
    urlText({ min: 1, max: 2048 }),
    `a URL starting with ${schemes.map(s => `\`${s}://\``).join(' or ')}`,
    value => {
      if (!URL.canParse(value)) return { problem: { message: `\`${clipUrl(value)}\` is not a URL` } }
      const result = new URL(value)
      if (!schemes.includes(result.protocol.slice(0, -1)))
        return { problem: { message: `the scheme \`${result.protocol.slice(0, -1)}\` is not ${schemes.join(' or ')}` } }
      return { value: result }
    },
    new URL(`${schemes[0]}://localhost`),
    { type: 'string', maxLength: 2048, format: 'uri', pattern: `^(${schemes.join('|')})://` },
  )
}

function clipUrl(text: string): string {
  return clip(withoutSecrets(text))
}

function clip(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

import { GatewayError } from './errors.ts'

/** How a path is normalized before anything else sees it. */
export interface PathRules {
  /** `.` and `..`, also as `%2e`: RFC 3986 section 5.2.4. */
  readonly dotSegments: 'resolve' | 'reject' | 'keep'
  /** Collapses repeated slashes. */
  readonly mergeSlashes: boolean
  /** Decodes `%73` to `s` (RFC 3986 section 6.2.2.2) and rejects malformed percent-encoding. */
  readonly decodeUnreserved: boolean
  /** `%2F` and `%5C`. */
  readonly encodedSlashes: 'reject' | 'keep' | 'decode' | 'redirect'
}

/** Routes, rules and backends agree on the path, however a backend parses it. */
export const SAFE_PATHS: PathRules = {
  dotSegments: 'resolve',
  mergeSlashes: true,
  decodeUnreserved: true,
  encodedSlashes: 'reject',
}
export const PATHS_AS_WRITTEN: PathRules = {
  dotSegments: 'keep',
  mergeSlashes: false,
  decodeUnreserved: false,
  encodedSlashes: 'keep',
}

/** Whether no rule leaves a path in a form that a backend may interpret differently. */
export function isNormalizing(rules: PathRules): boolean {
  return rules.dotSegments !== 'keep' && rules.mergeSlashes && rules.decodeUnreserved && rules.encodedSlashes !== 'keep'
}

export interface PathNormalizer {
  /**
   * The target with its path normalized and its query untouched. A path that is already normal is scanned once and
   * returned as is. Throws GatewayError `invalidRequest` if the rules reject it.
   */
  normalize(target: string): string
  /** Whether the client is redirected to the normalized path instead of being served. */
  redirects(target: string): boolean
}

/** A path without any of these is normal; the query may contain them. */
const SUSPECT = /\/[/.]|%/
const BROKEN_ENCODING = /%(?![0-9a-f]{2})/i
/** NUL, and overlong UTF-8 encodings of ASCII, which lenient decoders read as `.` and `/`. */
const DECEPTIVE_ENCODING = /%(?:00|c[01]%[89ab][0-9a-f]|e0%[89][0-9a-f]|f0%8[0-9a-f])/i
const ENCODED = /%[0-9a-f]{2}/gi
const UNRESERVED = /[A-Za-z0-9._~-]/
const ENCODED_SLASH = /%(?:2f|5c)/i
const ENCODED_SLASHES = /%(?:2f|5c)/gi
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?=\/|$)/i
/** `..;x` is `..` to servers that support segment parameters; next to an encoded slash, to those that decode first. */
const HIDDEN_DOT_SEGMENT = /(?:\/|%2f|%5c)(?:\.|%2e){1,2}(?:;|%3b|%2f|%5c)|(?:%2f|%5c)(?:\.|%2e){1,2}(?:\/|$)/i

export function pathNormalizer(rules: PathRules): PathNormalizer {
  const { encodedSlashes } = rules
  const decodes = encodedSlashes === 'decode' || encodedSlashes === 'redirect'
  return {
    normalize(target) {
      if (!SUSPECT.test(target)) return target
      const at = target.indexOf('?')
      const path = at < 0 ? target : target.slice(0, at)
      // Neither `*` nor the authority of a CONNECT contains a path.
      if (!SUSPECT.test(path) || path.charCodeAt(0) !== SLASH) return target
      const normal = normalized(path, rules, decodes)
      return normal === path ? target : at < 0 ? normal : normal + target.slice(at)
    },
    redirects: target => encodedSlashes === 'redirect' && ENCODED_SLASH.test(target.split('?', 1)[0] as string),
  }
}

const SLASH = 47

function normalized(written: string, rules: PathRules, decodesSlashes: boolean): string {
  let path = written
  if (rules.decodeUnreserved && path.includes('%')) {
    if (BROKEN_ENCODING.test(path)) throw refused('broken percent-encoding in the path')
    if (DECEPTIVE_ENCODING.test(path)) throw refused('deceptive percent-encoding in the path')
    path = path.replace(ENCODED, decodeUnreserved)
  }
  if (decodesSlashes) path = path.replace(ENCODED_SLASHES, '/')
  else if (rules.encodedSlashes === 'reject' && ENCODED_SLASH.test(path)) throw refused('encoded slash in the path')
  if (rules.dotSegments !== 'keep') {
    if (HIDDEN_DOT_SEGMENT.test(path)) throw refused('hidden dot segment in the path')
    if (DOT_SEGMENT.test(path)) {
      if (rules.dotSegments === 'reject') throw refused('dot segment in the path')
      path = withoutDotSegments(path)
    }
  }
  return rules.mergeSlashes ? path.replace(/\/{2,}/g, '/') : path
}

function decodeUnreserved(encoded: string): string {
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
  return UNRESERVED.test(character) ? character : encoded
}

/** RFC 3986 section 5.2.4, with `%2e` for a dot. */
function withoutDotSegments(path: string): string {
  const kept: string[] = []
  const segments = path.slice(1).split('/')
  const last = segments.length - 1
  segments.forEach((segment, i) => {
    const dots = /^(?:\.|%2e){1,2}$/i.test(segment) ? segment.replace(/%2e/gi, '.') : ''
    if (dots === '..') kept.pop()
    if (dots === '') kept.push(segment)
    else if (i === last) kept.push('')
  })
  return `/${kept.join('/')}`
}

function refused(detail: string): GatewayError {
  return new GatewayError('invalidRequest', { detail })
}

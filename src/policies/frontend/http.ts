import { PATHS_AS_WRITTEN, type PathRules, pathNormalizer, SAFE_PATHS } from '../../http/path-normalization.ts'
import {
  boolean,
  def,
  type Infer,
  integer,
  object,
  oneOf,
  opt,
  parsed,
  type Schema,
  serverRule,
  shapes,
} from '../../schema/builder.ts'
import { byteQuantity, resourceDuration } from '../../schema/resource-scalars.ts'
import { byteSize, duration } from '../../schema/scalars.ts'
import { asFields, type Fields } from '../../schema/untyped.ts'
import { bytesOf, defined, lower, type Policies } from '../parts/cluster-form.ts'
import { definePolicy, type FrontendSettings } from '../policy.ts'

/** Defaults without this policy. */
export const HTTP_DEFAULTS: Pick<
  FrontendSettings,
  'maxBuffer' | 'bodies' | 'paths' | 'http1' | 'http2' | 'maxConnectionDuration'
> = {
  maxBuffer: 2_097_152,
  bodies: { total: 536_870_912, timeout: 300_000, minRate: 240 },
  paths: pathNormalizer(SAFE_PATHS),
  http1: { maxHeaders: 100, idleTimeout: 600_000, preserveCase: false },
  http2: {
    windowSize: 262_144,
    connectionWindowSize: 1_048_576,
    frameSize: 16_384,
    maxHeaderSize: 65_536,
    keepaliveInterval: 0,
    keepaliveTimeout: 20_000,
  },
  maxConnectionDuration: 0,
}

const FRAME = { min: 16_384, max: 1_677_215 }
const frameSize: Schema<number> = parsed(
  byteQuantity,
  `a size of ${FRAME.min} to ${FRAME.max} bytes`,
  bytes =>
    bytes >= FRAME.min && bytes <= FRAME.max
      ? { value: bytes }
      : { problem: { message: `${bytes} bytes is out of range: must be ${FRAME.min} to ${FRAME.max}` } },
  FRAME.min,
  undefined,
  [
    serverRule(
      `type(self) == int ? self >= ${FRAME.min} && self <= ${FRAME.max} : quantity(self).compareTo(quantity('${FRAME.min}')) >= 0 && quantity(self).compareTo(quantity('${FRAME.max}')) <= 0`,
      `must be ${FRAME.min} to ${FRAME.max} bytes`,
    ),
  ],
)
const clusterFields = {
  maxBufferSize: opt(byteQuantity, 'Largest body to buffer.'),
  http1MaxHeaders: opt(integer(1, 4096), 'Maximum number of header fields in a request.'),
  http1IdleTimeout: opt(resourceDuration(1000), 'Idle timeout of connections.'),
  pathNormalization: opt(
    object('path normalization', {
      dotSegments: opt(oneOf(['Resolve', 'Reject', 'Keep']), 'How `.` and `..` are handled; resolved when unset.'),
      mergeSlashes: opt(boolean, 'Whether `//` becomes `/`; it does when unset.'),
      decodeUnreserved: opt(boolean, 'Whether `%73` becomes `s`; it does when unset.'),
      encodedSlashes: opt(
        oneOf(['Reject', 'Keep', 'Decode', 'Redirect']),
        'How `%2F` and `%5C` are handled; refused when unset.',
      ),
    }),
    'The form in which routes, rules and backends see paths.',
  ),
  http1HeaderCase: opt(oneOf(['Lowercase', 'Preserve']), 'Case of header names.'),
  http2WindowSize: opt(byteQuantity, 'Flow-control window of a stream.'),
  http2ConnectionWindowSize: opt(byteQuantity, 'Flow-control window of a connection.'),
  http2MaxHeaderSize: opt(byteQuantity, 'The largest header.'),
  http2FrameSize: opt(frameSize, 'The largest frame.'),
  http2KeepaliveInterval: opt(resourceDuration(1000), 'Time between pings.'),
  http2KeepaliveTimeout: opt(resourceDuration(1000), 'Timeout for the answer to a ping.'),
  maxConnectionDuration: opt(resourceDuration(1000), 'Maximum lifetime of a connection.'),
}
const inCluster = object('HTTP settings', clusterFields, { atLeastOneOf: [Object.keys(clusterFields)] })

const pathNormalization = shapes({
  string: oneOf(['none']),
  object: object('path normalization', {
    dotSegments: def(
      oneOf(['resolve', 'reject', 'keep']),
      SAFE_PATHS.dotSegments,
      'How `.` and `..` (also `%2e`) are handled: `/a/../b` becomes `/b`, is answered with 400, or is kept.',
    ),
    mergeSlashes: def(boolean, SAFE_PATHS.mergeSlashes, '`//` becomes `/`.'),
    decodeUnreserved: def(
      boolean,
      SAFE_PATHS.decodeUnreserved,
      'Percent-encoded letters, digits and `-._~` are decoded: `%73` becomes `s`. A `%` without two hexadecimal digits is answered with 400.',
    ),
    encodedSlashes: def(
      oneOf(['reject', 'keep', 'decode', 'redirect']),
      SAFE_PATHS.encodedSlashes,
      'How `%2F` and `%5C` are handled: answered with 400, kept, served as `/`, or redirected to the path with `/` (307).',
    ),
  }),
})

/** The configured path rules; safe defaults if unset. */
export function pathRules(spec: Infer<typeof pathNormalization> | undefined): PathRules {
  return spec === undefined ? SAFE_PATHS : spec === 'none' ? PATHS_AS_WRITTEN : spec
}

export const frontendHttp = definePolicy({
  name: 'http',
  doc: 'Limits of HTTP client connections.',
  cluster: [{ section: 'frontend', member: 'http', field: opt(inCluster, 'HTTP settings for clients.'), convert }],
  attach: ['frontend'],
  schema: object('frontend HTTP settings', {
    maxBufferSize: def(
      byteSize,
      HTTP_DEFAULTS.maxBuffer,
      'Largest body to hold in memory, unless a policy sets its own limit.',
    ),
    maxBufferTotal: def(
      byteSize,
      HTTP_DEFAULTS.bodies.total,
      'Memory in bytes for the bodies of all requests together, across workers; requests that need more are answered with 503.',
    ),
    bufferTimeout: def(
      duration,
      '5m',
      'Time limit for reading a body into memory; slower requests are answered with 408. `0s`: no limit.',
    ),
    bufferMinRate: def(
      byteSize,
      HTTP_DEFAULTS.bodies.minRate,
      'Minimum rate of a request body that is read into memory, in bytes per second, averaged once 10 seconds have passed; a slower one is answered with 408. 0: no minimum.',
    ),
    pathNormalization: opt(
      pathNormalization,
      'The form in which routes, rules and backends see paths. Unset: dot segments are resolved, slashes merged, unreserved characters decoded, encoded slashes refused. `none`: as clients write them.',
    ),
    http1MaxHeaders: opt(
      integer(1, 65536),
      'Header fields of an HTTP/1 request; more are refused with 431. 100 when unset.',
    ),
    http1IdleTimeout: def(duration, '10m', 'Idle HTTP/1 connections are closed after this.'),
    http1HeaderCase: def(
      oneOf(['lowercase', 'preserve']),
      'lowercase',
      'How header names of HTTP/1 requests are forwarded to backends.',
    ),
    http2WindowSize: opt(integer(1, 2147483647), 'Flow control window of a stream, bytes.'),
    http2ConnectionWindowSize: opt(integer(1, 2147483647), 'Flow control window of a connection, bytes.'),
    http2FrameSize: opt(integer(16384, 16777215), 'Largest frame, bytes.'),
    http2MaxHeaderSize: opt(integer(1), 'Largest header list, bytes.'),
    http2KeepaliveInterval: opt(duration, 'Time between pings.'),
    http2KeepaliveTimeout: opt(duration, 'Timeout for the answer to a ping.'),
    maxConnectionDuration: opt(duration, 'Connections are closed after this.'),
  }),
  compile: spec => ({
    frontend: {
      maxBuffer: spec.maxBufferSize,
      bodies: { total: spec.maxBufferTotal, timeout: spec.bufferTimeout, minRate: spec.bufferMinRate },
      paths: pathNormalizer(pathRules(spec.pathNormalization)),
      http1: {
        maxHeaders: spec.http1MaxHeaders ?? HTTP_DEFAULTS.http1.maxHeaders,
        idleTimeout: spec.http1IdleTimeout,
        preserveCase: spec.http1HeaderCase === 'preserve',
      },
      http2: {
        windowSize: spec.http2WindowSize ?? HTTP_DEFAULTS.http2.windowSize,
        connectionWindowSize: spec.http2ConnectionWindowSize ?? HTTP_DEFAULTS.http2.connectionWindowSize,
        frameSize: spec.http2FrameSize ?? HTTP_DEFAULTS.http2.frameSize,
        maxHeaderSize: spec.http2MaxHeaderSize ?? HTTP_DEFAULTS.http2.maxHeaderSize,
        keepaliveInterval: spec.http2KeepaliveInterval ?? HTTP_DEFAULTS.http2.keepaliveInterval,
        keepaliveTimeout: spec.http2KeepaliveTimeout ?? HTTP_DEFAULTS.http2.keepaliveTimeout,
      },
      maxConnectionDuration: spec.maxConnectionDuration ?? HTTP_DEFAULTS.maxConnectionDuration,
    },
  }),
})

const SIZES = ['maxBufferSize', 'http2WindowSize', 'http2ConnectionWindowSize', 'http2MaxHeaderSize', 'http2FrameSize']

function convert(part: Fields): Policies {
  const out: Policies = {}
  for (const [name, value] of Object.entries(part)) out[name] = SIZES.includes(name) ? (bytesOf(value) ?? value) : value
  out.http1HeaderCase = lower(part.http1HeaderCase)
  const paths = asFields(part.pathNormalization)
  if (paths) {
    const { dotSegments, encodedSlashes } = paths
    out.pathNormalization = defined({
      ...paths,
      dotSegments: lower(dotSegments),
      encodedSlashes: lower(encodedSlashes),
    })
  }
  return defined(out)
}

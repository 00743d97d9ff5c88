import { def, integer, object, oneOf, opt } from '../../schema/builder.ts'
import { byteSize, duration } from '../../schema/scalars.ts'
import { definePolicy, type FrontendSettings } from '../policy.ts'

/** What holds without this policy. */
export const HTTP_DEFAULTS: Pick<FrontendSettings, 'maxBuffer' | 'http1' | 'http2' | 'maxConnectionDuration'> = {
  maxBuffer: 2_097_152,
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

export const frontendHttp = definePolicy({
  name: 'http',
  doc: 'Limits of client connections that speak HTTP.',
  attach: ['frontend'],
  schema: object('frontend HTTP settings', {
    maxBufferSize: def(
      byteSize,
      HTTP_DEFAULTS.maxBuffer,
      'Largest body that is held in memory where a policy sets no limit of its own.',
    ),
    http1MaxHeaders: opt(
      integer(1, 65536),
      'Header fields of an HTTP/1 request; more are refused with 431. 100 when unset.',
    ),
    http1IdleTimeout: def(duration, '10m', 'Idle HTTP/1 connections are closed after this.'),
    http1HeaderCase: def(
      oneOf(['lowercase', 'preserve']),
      'lowercase',
      'How header names of HTTP/1 requests go on to backends.',
    ),
    http2WindowSize: opt(integer(1, 2147483647), 'Flow control window of a stream, bytes.'),
    http2ConnectionWindowSize: opt(integer(1, 2147483647), 'Flow control window of a connection, bytes.'),
    http2FrameSize: opt(integer(16384, 16777215), 'Largest frame, bytes.'),
    http2MaxHeaderSize: opt(integer(1), 'Largest header list, bytes.'),
    http2KeepaliveInterval: opt(duration, 'Time between pings.'),
    http2KeepaliveTimeout: opt(duration, 'Time to wait for the answer to a ping.'),
    maxConnectionDuration: opt(duration, 'Connections are closed after this.'),
  }),
  compile: spec => ({
    frontend: {
      maxBuffer: spec.maxBufferSize,
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

import { def, integer, object, oneOf, opt } from '../../schema/builder.ts'
import { byteSize, duration } from '../../schema/scalars.ts'
import { definePolicy } from '../policy.ts'

const BY_SERVER = { unserved: 'This limit of HTTP/2 keeps its default.' }

export const frontendHttp = definePolicy({
  name: 'http',
  doc: 'Limits of client connections that speak HTTP.',
  attach: ['frontend'],
  schema: object('frontend HTTP settings', {
    maxBufferSize: def(
      byteSize,
      2097152,
      'Largest body that is held in memory where a policy sets no limit of its own.',
    ),
    http1MaxHeaders: opt(integer(1, 65536), 'Header fields of an HTTP/1 request.'),
    http1IdleTimeout: def(duration, '10m', 'Idle HTTP/1 connections are closed after this.'),
    http1HeaderCase: def(
      oneOf(['lowercase', 'preserve']),
      'lowercase',
      'How header names are written to HTTP/1 backends.',
    ),
    http2WindowSize: opt(integer(1, 2147483647), 'Flow control window of a stream, bytes.', BY_SERVER),
    http2ConnectionWindowSize: opt(integer(1, 2147483647), 'Flow control window of a connection, bytes.', BY_SERVER),
    http2FrameSize: opt(integer(16384, 16777215), 'Largest frame, bytes.', BY_SERVER),
    http2MaxHeaderSize: opt(integer(1), 'Largest header list, bytes.', BY_SERVER),
    http2KeepaliveInterval: opt(duration, 'Time between pings.', BY_SERVER),
    http2KeepaliveTimeout: opt(duration, 'Time to wait for the answer to a ping.', BY_SERVER),
    maxConnectionDuration: opt(duration, 'Connections are closed after this.'),
  }),
  compile: () => ({}),
})

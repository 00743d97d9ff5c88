import { object, oneOf, opt } from '../../schema/builder.ts'
import { duration } from '../../schema/scalars.ts'
import { definePolicy } from '../policy.ts'

export const http = definePolicy({
  name: 'http',
  doc: 'HTTP version and time limit of calls.',
  attach: ['backend', 'target'],
  perBackend: true,
  schema: object('backend HTTP settings', {
    version: opt(oneOf(['HTTP/1.1', 'HTTP/2.0']), 'Version to speak; 1.1, or what TLS agrees on, when unset.'),
    requestTimeout: opt(duration, 'Time until the response head, per call.'),
  }),
  compile: spec => ({
    upstream: {
      ...(spec.version === undefined ? {} : { version: spec.version === 'HTTP/1.1' ? '1.1' : '2' }),
      ...(spec.requestTimeout === undefined ? {} : { requestTimeout: spec.requestTimeout }),
    },
  }),
})

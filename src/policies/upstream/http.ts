import { object, oneOf, opt } from '../../schema/builder.ts'
import { duration } from '../../schema/scalars.ts'
import { writtenTimes } from '../parts/written-times.ts'
import { definePolicy } from '../policy.ts'
import { connectionFields, convertHttp } from './cluster/connection.ts'

export const http = definePolicy({
  name: 'http',
  doc: 'HTTP version and timeout of calls.',
  cluster: [
    {
      section: 'backend',
      on: 'target',
      member: 'http',
      field: connectionFields.http,
      convert: convertHttp,
    },
  ],
  attach: ['backend', 'target'],
  perBackend: true,
  schema: object('backend HTTP settings', {
    version: opt(oneOf(['HTTP/1.1', 'HTTP/2.0']), 'HTTP version; 1.1, or as negotiated over TLS, when unset.'),
    requestTimeout: opt(duration, 'Timeout for the response head of each call.'),
  }),
  probe: spec => ({ delays: writtenTimes(spec, ['requestTimeout']) }),
  compile: spec => ({
    upstream: {
      ...(spec.version === undefined ? {} : { version: spec.version === 'HTTP/1.1' ? '1.1' : '2' }),
      ...(spec.requestTimeout === undefined ? {} : { requestTimeout: spec.requestTimeout }),
    },
  }),
})

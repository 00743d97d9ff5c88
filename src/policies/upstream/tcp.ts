import { object, opt } from '../../schema/builder.ts'
import { keepalives, probesOf } from '../../schema/keepalives.ts'
import { duration } from '../../schema/scalars.ts'
import { definePolicy } from '../policy.ts'
import { connectionFields, convertTcp } from './cluster/connection.ts'

export const tcp = definePolicy({
  name: 'tcp',
  doc: 'How connections are opened and kept alive.',
  cluster: [
    {
      section: 'backend',
      on: 'target',
      member: 'tcp',
      field: connectionFields.tcp,
      convert: convertTcp,
    },
  ],
  attach: ['backend', 'target'],
  perBackend: true,
  schema: object('backend TCP settings', {
    connectTimeout: opt(duration, 'Time to connect; `config.backend.connectTimeout` when unset.'),
    keepalives: opt(keepalives, 'TCP keepalives; `config.backend.keepalives` when unset.'),
  }),
  compile: spec => ({
    upstream: {
      ...(spec.connectTimeout === undefined ? {} : { connectTimeout: spec.connectTimeout }),
      ...(spec.keepalives === undefined ? {} : { keepAlive: probesOf(spec.keepalives) }),
    },
  }),
})

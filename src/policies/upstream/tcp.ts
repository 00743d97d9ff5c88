import { object, opt } from '../../schema/builder.ts'
import { keepalives } from '../../schema/keepalives.ts'
import { duration } from '../../schema/scalars.ts'
import { definePolicy } from '../policy.ts'

export const tcp = definePolicy({
  name: 'tcp',
  doc: 'How connections are opened and kept.',
  attach: ['backend', 'target'],
  perBackend: true,
  schema: object('backend TCP settings', {
    connectTimeout: opt(duration, 'Time to connect; `config.backend.connectTimeout` when unset.'),
    keepalives: opt(keepalives, 'TCP keepalives.'),
  }),
  compile: spec => ({
    upstream: {
      ...(spec.connectTimeout === undefined ? {} : { connectTimeout: spec.connectTimeout }),
      ...(spec.keepalives === undefined ? {} : { keepAlive: spec.keepalives.enabled ? spec.keepalives.time : false }),
    },
  }),
})

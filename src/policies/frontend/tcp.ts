import { object, opt } from '../../schema/builder.ts'
import { keepalives, probesOf } from '../../schema/keepalives.ts'
import { asFields } from '../../schema/untyped.ts'
import { defined } from '../parts/cluster-form.ts'
import { definePolicy, type FrontendSettings } from '../policy.ts'
import { convertKeepalive, keepalive } from '../upstream/cluster/connection.ts'

export const TCP_DEFAULTS: Pick<FrontendSettings, 'keepAlive'> = { keepAlive: false }

const inCluster = object(
  'TCP settings',
  { keepalive: opt(keepalive, 'Probes on idle connections.') },
  { atLeastOneOf: [['keepalive']] },
)

export const frontendTcp = definePolicy({
  name: 'tcp',
  doc: 'TCP settings of client connections.',
  cluster: [
    {
      section: 'frontend',
      member: 'tcp',
      field: opt(inCluster, 'TCP connections from clients.'),
      convert(part) {
        const alive = asFields(part.keepalive)
        return defined({ keepalives: alive && convertKeepalive(alive) })
      },
    },
  ],
  attach: ['frontend'],
  schema: object('frontend TCP settings', { keepalives: opt(keepalives, 'TCP keepalives; none when unset.') }),
  compile: ({ keepalives: set }) => ({ frontend: { keepAlive: set !== undefined && probesOf(set) } }),
})

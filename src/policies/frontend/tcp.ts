import { object, opt } from '../../schema/builder.ts'
import { keepalives, probesOf } from '../../schema/keepalives.ts'
import { definePolicy, type FrontendSettings } from '../policy.ts'

export const TCP_DEFAULTS: Pick<FrontendSettings, 'keepAlive'> = { keepAlive: false }

export const frontendTcp = definePolicy({
  name: 'tcp',
  doc: 'TCP of client connections.',
  attach: ['frontend'],
  schema: object('frontend TCP settings', { keepalives: opt(keepalives, 'TCP keepalives; none when unset.') }),
  compile: ({ keepalives: set }) => ({ frontend: { keepAlive: set !== undefined && probesOf(set) } }),
})

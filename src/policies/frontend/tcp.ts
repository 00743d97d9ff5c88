import { object, opt } from '../../schema/builder.ts'
import { keepalives } from '../../schema/keepalives.ts'
import { definePolicy } from '../policy.ts'

export const frontendTcp = definePolicy({
  name: 'tcp',
  doc: 'TCP of client connections.',
  attach: ['frontend'],
  unserved: 'TCP settings of client connections are not applied yet.',
  schema: object('frontend TCP settings', { keepalives: opt(keepalives, 'TCP keepalives.') }),
  compile: () => ({}),
})

import { cel, object, req } from '../../schema/builder.ts'
import { definePolicy } from '../policy.ts'

export const sessionAffinity = definePolicy({
  name: 'sessionAffinity',
  doc: 'Requests with the same value go to the same endpoint.',
  attach: ['backend'],
  perBackend: true,
  unserved: 'Requests are not pinned to endpoints yet.',
  schema: object('session affinity', { source: req(cel('request', 'string'), 'Gives the value.') }),
  compile: () => ({}),
})

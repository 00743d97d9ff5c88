import { object, oneOf, req } from '../../schema/builder.ts'
import { definePolicy } from '../policy.ts'

export const connect = definePolicy({
  name: 'connect',
  doc: 'What happens to CONNECT requests; they are refused with 405 when unset.',
  attach: ['frontend'],
  schema: object('CONNECT settings', {
    mode: req(
      oneOf(['deny', 'route', 'tunnel']),
      '`deny`: 405. `route`: to a route. `tunnel`: back in through the internal bind.',
    ),
  }),
  unserved: 'CONNECT requests are always refused with 405. Remove the field, or keep `mode: deny` in mind.',
  compile: () => ({}),
})

import { object, oneOf, req } from '../../schema/builder.ts'
import { definePolicy } from '../policy.ts'

export const connect = definePolicy({
  name: 'connect',
  doc: 'What happens to CONNECT requests; they are refused with 405 when unset.',
  attach: ['frontend'],
  schema: object('CONNECT settings', {
    mode: req(
      oneOf(['deny', 'route', 'tunnel']),
      '`deny`: 405. `route`: to the backend of a route, as a tunnel. `tunnel`: back in through the internal bind.',
    ),
  }),
  compile({ mode }, ctx) {
    if (mode === 'tunnel') {
      ctx.report({
        code: 'GW601',
        message: '`mode: tunnel` is valid but not served yet',
        path: ['mode'],
        at: 'value',
        label: 'gwctl run refuses to start with this',
        note: 'Tunnels are not taken apart: they lead to the backend of a route, or are refused.',
      })
    }
    return { frontend: { tunnels: mode === 'route' } }
  },
})

import { object, oneOf, opt, req } from '../../schema/builder.ts'
import { lower } from '../parts/cluster-form.ts'
import { definePolicy } from '../policy.ts'

const inCluster = object('CONNECT handling', {
  mode: req(oneOf(['Deny', 'Route', 'Tunnel']), 'How they are handled.'),
})

export const connect = definePolicy({
  name: 'connect',
  doc: 'What happens to CONNECT requests; they are refused with 405 when unset.',
  cluster: [
    {
      section: 'frontend',
      member: 'connect',
      field: opt(inCluster, 'Requests with the method CONNECT.'),
      convert: part => ({ mode: lower(part.mode) }),
    },
  ],
  attach: ['frontend'],
  schema: object('CONNECT settings', {
    mode: req(
      oneOf(['deny', 'route', 'tunnel']),
      '`deny`: 405. `route`: a tunnel to the backend of a route. `tunnel`: re-enters through the internal bind.',
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
        note: 'Tunnels are not terminated: they lead to the backend of a route, or are refused.',
      })
    }
    return { frontend: { tunnels: mode === 'route' } }
  },
})

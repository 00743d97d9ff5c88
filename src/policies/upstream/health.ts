import { cel, integer, number, object, opt } from '../../schema/builder.ts'
import { duration } from '../../schema/scalars.ts'
import { definePolicy } from '../policy.ts'
import { convertHealth, health as inCluster } from './cluster/connection.ts'

export const health = definePolicy({
  name: 'health',
  doc: 'When a backend counts as unhealthy and is left out.',
  spec: 'Backend health (from the health policy)',
  cluster: [
    {
      section: 'backend',
      on: 'provider',
      member: 'health',
      field: opt(inCluster, 'When the backend counts as unhealthy.'),
      convert: convertHealth,
    },
  ],
  attach: ['backend', 'provider'],
  perBackend: true,
  schema: object('health', {
    unhealthyExpression: opt(
      cel('response', 'bool'),
      'True marks a response as unhealthy; any 5xx or connection failure when unset.',
    ),
    eviction: opt(
      object('eviction', {
        duration: opt(duration, 'How long an unhealthy backend is left out; 3s when nothing else tells.'),
        restoreHealth: opt(number(0, 1), 'Health that it comes back with.'),
        consecutiveFailures: opt(integer(1), 'Unhealthy responses in a row that lead to eviction.'),
        healthThreshold: opt(number(0, 1), 'Health below which it is left out.'),
      }),
      'When and how long an unhealthy backend is left out.',
    ),
  }),
  probe: () => ({ statuses: [503] }),
  compile: ({ unhealthyExpression, eviction }) => ({
    upstream: {
      health: {
        ...(unhealthyExpression === undefined ? {} : { unhealthy: unhealthyExpression }),
        ...(eviction === undefined ? {} : { eviction }),
      },
    },
  }),
})

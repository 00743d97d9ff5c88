import { cel, integer, number, object, opt } from '../../schema/builder.ts'
import { duration } from '../../schema/scalars.ts'
import { definePolicy } from '../policy.ts'
import { convertHealth, health as inCluster } from './cluster/connection.ts'

export const health = definePolicy({
  name: 'health',
  doc: 'When a backend is considered unhealthy and evicted.',
  spec: 'Backend health (from the health policy)',
  cluster: [
    {
      section: 'backend',
      on: 'provider',
      member: 'health',
      field: opt(inCluster, 'When the backend is considered unhealthy.'),
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
        duration: opt(duration, 'How long an unhealthy backend is evicted; 3s unless determined otherwise.'),
        restoreHealth: opt(number(0, 1), 'Health after the eviction.'),
        consecutiveFailures: opt(integer(1), 'Consecutive unhealthy responses that cause eviction.'),
        healthThreshold: opt(number(0, 1), 'Health below which it is evicted.'),
      }),
      'When and for how long an unhealthy backend is evicted.',
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

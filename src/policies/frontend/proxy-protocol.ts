import { def, object, oneOf } from '../../schema/builder.ts'
import { definePolicy } from '../policy.ts'

export const proxyProtocol = definePolicy({
  name: 'proxyProtocol',
  doc: 'Clients come through a load balancer that sends the PROXY protocol.',
  attach: ['frontend'],
  schema: object('PROXY protocol', {
    version: def(oneOf(['v1', 'v2', 'all']), 'v2', 'Accepted version.'),
    mode: def(oneOf(['strict', 'optional']), 'strict', 'Whether connections without it are refused.'),
  }),
  compile: ({ version, mode }) => ({
    frontend: { proxyProtocol: { v1: version !== 'v2', v2: version !== 'v1', optional: mode === 'optional' } },
  }),
})

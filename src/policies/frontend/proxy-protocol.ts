import { def, object, oneOf, opt } from '../../schema/builder.ts'
import { defined, lower } from '../parts/cluster-form.ts'
import { definePolicy } from '../policy.ts'

const inCluster = object('PROXY protocol', {
  version: def(oneOf(['V1', 'V2', 'All']), 'V2', 'Accepted versions.'),
  mode: def(oneOf(['Strict', 'Optional']), 'Strict', 'Whether connections without it are accepted.'),
})

export const proxyProtocol = definePolicy({
  name: 'proxyProtocol',
  doc: 'Clients connect through a load balancer that sends the PROXY protocol.',
  cluster: [
    {
      section: 'frontend',
      member: 'proxyProtocol',
      field: opt(inCluster, 'The PROXY protocol on client connections.'),
      convert: part => defined({ version: lower(part.version), mode: lower(part.mode) }),
    },
  ],
  attach: ['frontend'],
  schema: object('PROXY protocol', {
    version: def(oneOf(['v1', 'v2', 'all']), 'v2', 'Accepted version.'),
    mode: def(oneOf(['strict', 'optional']), 'strict', 'Whether connections without it are refused.'),
  }),
  compile: ({ version, mode }) => ({
    frontend: { proxyProtocol: { v1: version !== 'v2', v2: version !== 'v1', optional: mode === 'optional' } },
  }),
})

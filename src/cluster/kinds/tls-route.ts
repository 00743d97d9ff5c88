import { object, req } from '../../schema/builder.ts'
import { GATEWAY_GROUP } from '../../schema/resource-references.ts'
import { attachment, parentsDiffer, routeHostnames } from './parts/route-parts.ts'
import { defineKind, foreignStatus } from './resource.ts'
import { connectionRules } from './tcp-route.ts'

const spec = object(
  'TLS route',
  { ...attachment, hostnames: routeHostnames, rules: connectionRules },
  { check: parentsDiffer },
)

export const tlsRoute = defineKind(
  {
    kind: 'TLSRoute',
    group: GATEWAY_GROUP,
    versions: ['v1', 'v1alpha3', 'v1alpha2'],
    namespaced: true,
  },
  { spec: req(spec, 'How connections are routed.'), status: foreignStatus },
)

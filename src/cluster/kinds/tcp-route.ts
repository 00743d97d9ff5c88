import { list, object, req } from '../../schema/builder.ts'
import { GATEWAY_GROUP } from '../../schema/resource-references.ts'
import { attachment, parentsDiffer, routeBackend, ruleName } from './parts/route-parts.ts'
import { defineKind, foreignStatus } from './resource.ts'

const rule = object('route rule', {
  name: ruleName,
  backendRefs: req(list(routeBackend({}), { min: 1, max: 16 }), 'Where connections go.'),
})
/** The rules of a route for connections, not requests. */
export const connectionRules = req(list(rule, { min: 1, max: 16 }), 'How connections are processed.')
const spec = object('connection route', { ...attachment, rules: connectionRules }, { check: parentsDiffer })

const connectionRoute = (kind: 'TCPRoute' | 'UDPRoute') =>
  defineKind(
    { kind, group: GATEWAY_GROUP, versions: ['v1', 'v1alpha2'], namespaced: true },
    { spec: req(spec, 'How connections are routed.'), status: foreignStatus },
  )
export const tcpRoute = connectionRoute('TCPRoute')
/** Datagrams from one client port count as a connection. */
export const udpRoute = connectionRoute('UDPRoute')

import { boolean, def, integer, json, list, map, object, oneOf, opt, req, string } from '../../schema/builder.ts'
import { dnsLabel, intOrString, serviceName } from '../../schema/resource-scalars.ts'
import { missing, problem, type Rule } from '../../schema/rules.ts'
import { port } from '../../schema/scalars.ts'
import { defineKind, foreignStatus } from './resource.ts'

const servicePort = object('Service port', {
  name: opt(dnsLabel, 'The name; required when there are several ports.'),
  protocol: def(oneOf(['TCP', 'UDP', 'SCTP']), 'TCP', 'The protocol.'),
  appProtocol: opt(string(), 'The protocol that the application speaks.'),
  port: req(port, 'The port.'),
  targetPort: opt(intOrString, 'The port of the Pods.'),
  nodePort: opt(integer(0, 65535), 'The port of the nodes.'),
})

const portRules: Rule = value => {
  const ports = (value.ports ?? []) as readonly {
    readonly name?: string
    readonly port: number
    readonly protocol: string
  }[]
  if (ports.length === 0 && value.type !== 'ExternalName' && value.clusterIP !== 'None') {
    return [missing('ports', 'a Service needs at least one port')]
  }
  return ports.flatMap((each, index) => {
    const at = ['ports', index]
    if (each.name === undefined && ports.length > 1) {
      return [{ ...missing('name', 'a Service with several ports needs a `name` for each'), path: [...at, 'name'] }]
    }
    const twin = ports.slice(0, index).find(other => other.name === each.name)
    if (twin && each.name !== undefined) {
      return [problem([...at, 'name'], `two ports are named \`${each.name}\``, { at: 'value', code: 'GW114' })]
    }
    return ports.slice(0, index).some(other => other.port === each.port && other.protocol === each.protocol)
      ? [problem([...at, 'port'], `port ${each.port} is there twice`, { at: 'value', code: 'GW114' })]
      : []
  })
}

const spec = object(
  'Service',
  {
    ports: opt(list(servicePort), 'The ports.'),
    selector: opt(map(string()), 'Labels of the Pods.'),
    type: def(oneOf(['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']), 'ClusterIP', 'How it is exposed.'),
    clusterIP: opt(string(), 'Its address, or None.'),
    clusterIPs: opt(list(string()), 'Its addresses.'),
    externalIPs: opt(list(string()), 'Further addresses.'),
    externalName: opt(string(), 'The DNS name, for ExternalName.'),
    externalTrafficPolicy: opt(oneOf(['Cluster', 'Local']), 'Which nodes serve external traffic.'),
    internalTrafficPolicy: opt(oneOf(['Cluster', 'Local']), 'Which nodes serve internal traffic.'),
    healthCheckNodePort: opt(integer(0, 65535), 'The port of the health check.'),
    ipFamilies: opt(list(oneOf(['IPv4', 'IPv6'])), 'The address families.'),
    ipFamilyPolicy: opt(oneOf(['SingleStack', 'PreferDualStack', 'RequireDualStack']), 'One family or two.'),
    allocateLoadBalancerNodePorts: opt(boolean, 'Whether node ports are opened.'),
    loadBalancerClass: opt(string(), 'Who provides the load balancer.'),
    loadBalancerIP: opt(string(), 'The address of the load balancer.'),
    loadBalancerSourceRanges: opt(list(string()), 'Who may reach the load balancer.'),
    publishNotReadyAddresses: opt(boolean, 'Whether Pods count before they are ready.'),
    sessionAffinity: opt(oneOf(['None', 'ClientIP']), 'Whether a client stays with one Pod.'),
    sessionAffinityConfig: opt(json, 'For how long.'),
    trafficDistribution: opt(string(), 'Which endpoints are preferred.'),
  },
  { check: portRules },
)

export const service = defineKind(
  {
    kind: 'Service',
    group: '',
    versions: ['v1'],
    namespaced: true,
  },
  { spec: req(spec, 'The ports and Pods.'), status: foreignStatus },
  { name: serviceName },
)

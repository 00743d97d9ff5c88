import { object, opt, req, string } from '../../schema/builder.ts'
import { GATEWAY_GROUP } from '../../schema/resource-references.ts'
import { dnsLabel, groupName, kindName, refName } from '../../schema/resource-scalars.ts'
import { defineKind, foreignStatus } from './resource.ts'

const controllerName = string({
  min: 1,
  max: 253,
  pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/,
  form: 'a domain and a path: `example.com/controller`',
})
const parametersRef = object(
  'parameters reference',
  {
    group: req(groupName, 'The API group.'),
    kind: req(kindName, 'The kind.'),
    name: req(refName, 'The name.'),
    namespace: opt(dnsLabel, 'The namespace.'),
  },
  { refers: { to: 'parameters', kind: 'ProxyParameters' } },
)
const spec = object('GatewayClass', {
  controllerName: req(controllerName, 'Controller of the Gateways of the class.'),
  parametersRef: opt(parametersRef, 'How they are created.'),
  description: opt(string({ max: 64 }), 'For people.'),
})

export const gatewayClass = defineKind(
  {
    kind: 'GatewayClass',
    group: GATEWAY_GROUP,
    versions: ['v1', 'v1beta1'],
    namespaced: false,
  },
  { spec: req(spec, 'Controller of its Gateways.'), status: foreignStatus },
)

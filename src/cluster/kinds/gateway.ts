import { def, list, map, type ObjectProblem, object, oneOf, opt, req, string } from '../../schema/builder.ts'
import { GATEWAY_GROUP } from '../../schema/resource-references.ts'
import { groupName, kindName, labelKeyProblem, labelValue, refName } from '../../schema/resource-scalars.ts'
import { problem } from '../../schema/rules.ts'
import { port } from '../../schema/scalars.ts'
import { certificateRef, dataRef, listener, listenerRules, namespacesFrom } from './parts/listener.ts'
import { defineKind, foreignStatus } from './resource.ts'

const address = object(
  'address',
  {
    type: def(
      string({
        min: 1,
        max: 253,
        pattern:
          /^(Hostname|IPAddress|NamedAddress|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+)$/,
        form: 'Hostname, IPAddress or a type with a domain in front',
      }),
      'IPAddress',
      'The type.',
    ),
    value: opt(string({ max: 253 }), 'The address.'),
  },
  {
    check: ({ type, value }) =>
      type === 'Hostname' &&
      typeof value === 'string' &&
      !/^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(value)
        ? [problem(['value'], `\`${value}\` is not a host name`, { at: 'value', code: 'GW106' })]
        : [],
  },
)
const parametersRef = object(
  'parameters reference',
  {
    group: req(groupName, 'The API group.'),
    kind: req(kindName, 'The kind.'),
    name: req(refName, 'The name.'),
  },
  { refers: { to: 'parameters', kind: 'ProxyParameters' } },
)
const infrastructure = object('infrastructure', {
  labels: opt(map(labelValue, { max: 8, keys: labelKeyProblem }), 'Labels of the resources created for the Gateway.'),
  annotations: opt(map(string({ max: 4096 }), { max: 8, keys: labelKeyProblem }), 'Annotations of those resources.'),
  parametersRef: opt(parametersRef, 'How it is created.'),
})

const frontendTls = object('client validation', {
  caCertificateRefs: req(
    list(dataRef('CA certificate reference', 'ConfigMap', [['ca.crt']]), { min: 1, max: 8 }),
    'CAs that may sign client certificates.',
  ),
  mode: def(
    oneOf(['AllowValidOnly', 'AllowInsecureFallback']),
    'AllowValidOnly',
    'What happens without a valid certificate.',
  ),
})
const portTls = object('frontend TLS', { validation: opt(frontendTls, 'How client certificates are verified.') })
const tls = object('Gateway TLS', {
  backend: opt(
    object('backend TLS', { clientCertificateRef: opt(certificateRef, 'The certificate shown to backends.') }),
    'TLS to backends.',
  ),
  frontend: opt(
    object('frontend TLS', {
      default: req(portTls, 'For all ports.'),
      perPort: opt(
        list(object('frontend TLS of a port', { port: req(port, 'The port.'), tls: req(portTls, 'For this port.') }), {
          max: 64,
          unique: ['port'],
        }),
        'For individual ports.',
      ),
    }),
    'TLS settings for clients.',
  ),
})

const spec = object(
  'Gateway',
  {
    gatewayClassName: req(refName, 'The GatewayClass.'),
    listeners: req(list(listener, { min: 1, max: 64, unique: ['name'] }), 'Where connections are accepted.'),
    addresses: opt(list(address, { max: 16 }), 'Requested addresses.'),
    infrastructure: opt(infrastructure, 'Settings for the resources created for the Gateway.'),
    allowedListeners: opt(
      object('allowed listeners', {
        namespaces: def(
          namespacesFrom(['All', 'Selector', 'Same', 'None'], 'None', 'ListenerSet'),
          { from: 'None' },
          'Where ListenerSets may come from.',
        ),
      }),
      'Which ListenerSets may attach.',
    ),
    tls: opt(tls, 'TLS for the whole Gateway.'),
    defaultScope: opt(oneOf(['All', 'None']), 'Whether routes without parents attach.'),
  },
  { check: value => [...listenerRules(value), ...addressesDiffer(value)] },
)
function addressesDiffer(value: Record<string, unknown>): readonly ObjectProblem[] {
  const addresses = (value.addresses ?? []) as readonly { readonly type: string; readonly value?: string }[]
  return addresses.flatMap((each, index) =>
    each.value !== undefined && addresses.findIndex(a => a.type === each.type && a.value === each.value) < index
      ? [
          {
            path: ['addresses', index],
            at: 'value' as const,
            code: 'GW114' as const,
            message: `the address ${each.value} is there twice`,
          },
        ]
      : [],
  )
}

export const gateway = defineKind(
  {
    kind: 'Gateway',
    group: GATEWAY_GROUP,
    versions: ['v1', 'v1beta1'],
    namespaced: true,
  },
  { spec: req(spec, 'Where connections are accepted.'), status: foreignStatus },
)

import { namedBackendFields } from '../../backends/index.ts'
import {
  frontendPolicyFields,
  listenerPolicyFields,
  routePolicyFields,
  targetedPolicyFields,
} from '../../policies/index.ts'
import { def, type Infer, integer, json, list, map, object, oneOf, opt, req, string } from '../../schema/builder.ts'
import { configSection } from './config-section.ts'
import { bindSection, gatewaysSection } from './listener-section.ts'
import { llmSection } from './llm-section.ts'
import { mcpSection } from './mcp-section.ts'
import { attachedRoute, attachedTcpRoute, backendPolicies, gatewayRefs, routeGroup } from './route-section.ts'

const namedBackend = object(
  'named backend',
  {
    name: req(string({ min: 1 }), 'Referred to as `/name`.'),
    namespace: opt(string({ min: 1 }), 'Referred to as `namespace/name`.'),
    policies: opt(backendPolicies, 'Policies for calls to this backend.'),
    ...namedBackendFields,
  },
  { exactlyOneOf: [Object.keys(namedBackendFields)] },
)
export type NamedBackend = Infer<typeof namedBackend>

const policyTarget = object(
  'policy target',
  {
    gateway: opt(
      object(
        'gateway target',
        {
          gatewayName: req(string({ min: 1 }), 'Name of the gateway (`default` in a standalone file).'),
          gatewayNamespace: def(string({ min: 1 }), 'default', 'Its namespace.'),
          listenerName: opt(string({ min: 1 }), 'One listener only.'),
          port: opt(integer(1, 65535), 'One port only.'),
        },
        { atMostOneOf: [['listenerName', 'port']] },
      ),
      'Every route of a gateway, or of one listener.',
    ),
    route: opt(
      object('route target', {
        name: req(string({ min: 1 }), 'Name of the route.'),
        namespace: def(string({ min: 1 }), 'default', 'Its namespace.'),
        ruleName: opt(string({ min: 1 }), 'One rule only.'),
        kind: opt(string({ min: 1 }), 'Kind of the route.'),
      }),
      'One route.',
    ),
    backend: opt(
      object(
        'backend target',
        {
          backend: opt(
            object('backend reference', {
              name: req(string({ min: 1 }), 'Name of the backend.'),
              namespace: def(string(), '', 'Its namespace.'),
              section: opt(string({ min: 1 }), 'One provider or MCP target.'),
            }),
            'A named backend.',
          ),
          service: opt(
            object('service reference', {
              hostname: req(string({ min: 1 }), 'Host name of the service.'),
              namespace: req(string({ min: 1 }), 'Its namespace.'),
              port: opt(integer(1, 65535), 'One port only.'),
            }),
            'A service.',
          ),
        },
        { exactlyOneOf: [['backend', 'service']] },
      ),
      'Calls to a backend or service.',
    ),
    listenerSet: opt(
      object('listener set target', {
        name: req(string({ min: 1 }), 'Name.'),
        namespace: def(string({ min: 1 }), 'default', 'Namespace.'),
        section: opt(string({ min: 1 }), 'One listener only.'),
      }),
      'A listener set.',
      { unserved: 'Listener sets exist in cluster mode only.' },
    ),
  },
  { exactlyOneOf: [['gateway', 'route', 'backend', 'listenerSet']] },
)
const targetedPolicy = object('policy', {
  name: req(
    object('policy name', {
      name: req(string({ min: 1 }), 'Name.'),
      namespace: def(string({ min: 1 }), 'default', 'Namespace.'),
    }),
    'Name in dumps and findings.',
  ),
  target: req(policyTarget, 'What the policy applies to.'),
  phase: def(oneOf(['route', 'gateway']), 'route', '`gateway` runs before a route is chosen.'),
  policy: req(
    object('policy', targetedPolicyFields, { exactlyOneOf: [Object.keys(targetedPolicyFields)] }),
    'The policy itself: exactly one.',
  ),
})
export type TargetedPolicy = Infer<typeof targetedPolicy>

const NO_MESH = { unserved: 'Endpoints are called directly, all of them alike.' }
const FOR_THE_MESH = { inert: 'It only matters to the mesh that the list was made for; calls go to the addresses.' }
const NO_LOCALITY = { inert: 'The gateway has no place in the mesh, so no endpoint is nearer than another.' }
const loadBalancer = object('load balancer', {
  mode: req(oneOf(['Standard', 'Strict', 'Failover', 'Passthrough']), 'How preferences count.', NO_LOCALITY),
  routingPreferences: req(
    list(oneOf(['Region', 'Zone', 'Subzone', 'Node', 'Cluster', 'Network'])),
    'What preferred endpoints have in common with the client.',
    NO_LOCALITY,
  ),
  healthPolicy: def(oneOf(['OnlyHealthy', 'AllowAll']), 'OnlyHealthy', '`AllowAll` also calls unhealthy workloads.'),
})
const serviceSection = object('service', {
  name: req(string({ min: 1 }), 'Name.', { inert: 'Backends refer to the host name.' }),
  namespace: req(string({ min: 1 }), 'Namespace.'),
  hostname: req(string({ min: 1 }), 'Host name, for `namespace/hostname` references.'),
  vips: req(list(string({ min: 1 })), 'Virtual addresses, `network/ip`.', FOR_THE_MESH),
  ports: req(map(integer(1, 65535)), 'Service port to target port.'),
  appProtocols: opt(map(oneOf(['Http11', 'Http2', 'Grpc', 'Tls', 'Tcp'])), 'Service port to protocol.'),
  subjectAltNames: opt(list(string({ min: 1 })), 'Names that its certificates carry.'),
  waypoint: opt(json, 'Waypoint.', NO_MESH),
  loadBalancer: opt(loadBalancer, 'Which endpoints are called.'),
  ipFamilies: opt(oneOf(['Dual', 'IPv4', 'IPv6']), 'Address families of the virtual addresses.', FOR_THE_MESH),
})
const workloadSection = object('workload', {
  workloadIps: req(list(string({ min: 1 })), 'Addresses.'),
  namespace: req(string({ min: 1 }), 'Namespace.', FOR_THE_MESH),
  services: req(map(map(integer(1, 65535))), 'Services that it serves, `namespace/hostname` to ports.'),
  uid: opt(string(), 'Unique id.', FOR_THE_MESH),
  name: opt(string(), 'Name.', FOR_THE_MESH),
  serviceAccount: opt(string(), 'Service account.', FOR_THE_MESH),
  trustDomain: opt(string(), 'Trust domain.', FOR_THE_MESH),
  protocol: opt(oneOf(['TCP', 'HBONE', 'LegacyIstioMtls']), 'Protocol.'),
  network: opt(string(), 'Network.', FOR_THE_MESH),
  node: opt(string(), 'Node.', FOR_THE_MESH),
  status: opt(oneOf(['Healthy', 'Unhealthy']), 'Health.'),
  hostname: opt(string({ min: 1 }), 'Host name; called where there are no addresses.'),
  workloadName: opt(string(), 'Workload name.', FOR_THE_MESH),
  workloadType: opt(string(), 'Workload type.', FOR_THE_MESH),
  canonicalName: opt(string(), 'Canonical name.', FOR_THE_MESH),
  canonicalRevision: opt(string(), 'Canonical revision.', FOR_THE_MESH),
  capacity: opt(integer(0), 'Weight.'),
  locality: opt(json, 'Locality.', FOR_THE_MESH),
  clusterId: opt(string(), 'Cluster.', FOR_THE_MESH),
  networkMode: opt(string(), 'Network mode.', FOR_THE_MESH),
  waypoint: opt(json, 'Waypoint.', NO_MESH),
  networkGateway: opt(json, 'Network gateway.', NO_MESH),
  authorizationPolicies: opt(list(string()), 'Authorization policies.', {
    unserved: 'They are not enforced: use `authorization` of the backend.',
  }),
})
const uiSection = object('ui', {
  gateways: opt(gatewayRefs, 'Gateways that serve the UI.'),
  policies: opt(object('UI policies', { ...listenerPolicyFields }), 'Policies of the UI.'),
})

/** Top-level fields of other tools' files, and fields that belong elsewhere in this one. */
function misplaced(): Readonly<Record<string, string>> {
  const ofRoutes = Object.keys(routePolicyFields).map(name => [
    name,
    `move \`${name}\` into the \`policies\` of a route`,
  ])
  return {
    ...Object.fromEntries(ofRoutes),
    http: 'ports are `gateways` here, and what they serve are `routes`; limits of client connections are `frontendPolicies.http`',
    targets: 'move `targets` into `mcp`',
    port: 'write `gateways: {default: {port: …}}`',
    listeners: 'move `listeners` into an item of `binds`, or into one of `gateways`',
  }
}

/** The standalone file: what `validate` checks, `run -f` starts and `translate` writes. */
export const standalone = object(
  'configuration',
  {
    config: opt(configSection, 'Settings of the process; read at start only.'),
    binds: def(list(bindSection, { isolate: true }), [], 'Ports, their listeners and routes.', {
      spec: 'Standalone configuration file shape',
    }),
    frontendPolicies: opt(
      object('frontend policies', frontendPolicyFields),
      'How connections and requests are accepted, logged and traced.',
    ),
    policies: def(list(targetedPolicy, { isolate: true }), [], 'Policies attached by reference.'),
    services: def(list(serviceSection, { isolate: true }), [], 'Services of the mesh.'),
    workloads: def(list(workloadSection, { isolate: true }), [], 'Endpoints of the services.'),
    backends: def(list(namedBackend, { isolate: true }), [], 'Backends that routes refer to by name.'),
    routeGroups: def(list(routeGroup, { isolate: true }), [], 'Routes that other routes delegate to.'),
    gateways: def(gatewaysSection, {}, 'Ports by name; `routes`, `tcpRoutes`, `llm` and `mcp` attach to them.'),
    routes: def(list(attachedRoute, { isolate: true }), [], 'HTTP routes attached to gateways.'),
    tcpRoutes: def(list(attachedTcpRoute, { isolate: true }), [], 'TCP routes attached to gateways.'),
    llm: opt(llmSection, 'An LLM gateway: models by name behind OpenAI-compatible endpoints.'),
    mcp: opt(mcpSection, 'An MCP gateway: targets behind one endpoint.'),
    ui: opt(uiSection, 'Web interface.', { unserved: 'There is no web interface.' }),
  },
  { isolate: true, instead: misplaced() },
)
export type Standalone = Infer<typeof standalone>

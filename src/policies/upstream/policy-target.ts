import { type Field, lazy, object, opt, req, type Schema, string } from '../../schema/builder.ts'
import { httpAddress, port } from '../../schema/scalars.ts'
import { requestHeaderModifier } from '../request-header-modifier.ts'
import { transformations } from '../transformations.ts'
import { backendAuthSchema } from './backend-auth-schema.ts'
import { backendTLS } from './backend-tls.ts'
import { http } from './http.ts'
import { tcp } from './tcp.ts'

/** `namespace/hostname` of a service and one of its ports. */
export const serviceReference = object('service reference', {
  name: req(
    string({ min: 1, pattern: /^[^/]+\/[^/]+$/, form: '`namespace/hostname`' }),
    '`namespace/hostname` of the service.',
  ),
  port: req(port, 'Service port.'),
})

/** The service that a policy calls: exactly one of these. */
export const targetFields = {
  host: opt(httpAddress, '`host:port`, or a URL without a path; `https://` verifies against the system’s trust store.'),
  service: opt(serviceReference, 'A service of this file.'),
  backend: opt(string({ min: 1 }), 'A named backend, `/name`.'),
} as const
export const TARGET_KINDS = Object.keys(targetFields)

/** Specs by policy name, as in a target's `policies`. */
export type TargetPolicies = Readonly<Record<string, unknown>>

/** The policies on a policy's own call. Its `backendAuth` may itself call a target, hence the lazy reference. */
export const targetPolicies: Schema<TargetPolicies> = lazy('TargetPolicies', () => targetPoliciesSchema)

export const targetPoliciesField: Field<TargetPolicies, 'optional'> = opt(
  targetPolicies,
  'Policies for the call to it.',
)

/** A target together with its policies. */
export const policyTarget = object(
  'target',
  { ...targetFields, policies: targetPoliciesField },
  { exactlyOneOf: [TARGET_KINDS] },
)

export const backendAuthDeclaration = {
  name: 'backendAuth',
  doc: 'The credential that the call carries.',
  spec: 'Outbound (backend) authentication',
  schema: backendAuthSchema({ ...targetFields, policies: targetPoliciesField }),
} as const

export const backendTunnelDeclaration = {
  name: 'backendTunnel',
  doc: 'Reaches the backend through an HTTP CONNECT proxy.',
  schema: object('backend tunnel', {
    proxy: req(object('proxy', targetFields, { exactlyOneOf: [TARGET_KINDS] }), 'The proxy.'),
    policies: targetPoliciesField,
  }),
} as const

/** Policies allowed on a policy's target and on an MCP target. */
export const targetPolicyFields = {
  requestHeaderModifier: opt(requestHeaderModifier.schema, requestHeaderModifier.doc),
  transformations: opt(transformations.schema, transformations.doc),
  backendTLS: opt(backendTLS.schema, backendTLS.doc),
  backendAuth: opt(backendAuthDeclaration.schema, backendAuthDeclaration.doc),
  http: opt(http.schema, http.doc),
  tcp: opt(tcp.schema, tcp.doc),
  backendTunnel: opt(backendTunnelDeclaration.schema, backendTunnelDeclaration.doc),
}
const targetPoliciesSchema = object('target policies', targetPolicyFields)

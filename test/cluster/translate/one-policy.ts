import { fileOf, translated } from './translate.ts'

const AROUND = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec:
  gatewayClassName: agentgateway
  listeners: [{name: http, port: 8080, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 9001}]
endpoints: [{addresses: [127.0.0.1]}]
`

/** What becomes of one `traffic` section on a route: findings, losses, and the policies of the file. */
export async function policy(traffic: object) {
  const resource = {
    apiVersion: 'agentgateway.dev/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'p' },
    spec: { targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'app' }], traffic },
  }
  const made = await translated({ 'around.yaml': AROUND, 'policy.yaml': JSON.stringify(resource) })
  const policies = (fileOf(made).policies ?? []) as readonly { readonly policy: unknown }[]
  return {
    findings: made.diagnostics.map(({ code, message }) => `${code} ${message}`),
    losses: made.losses.map(({ message }) => message),
    policies: policies.map(each => each.policy),
  }
}

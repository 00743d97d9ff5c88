import { expect, test } from 'vitest'
import { renderTranslation } from '../../../src/tools/input/translate-resources.ts'
import { createAuthority } from '../../helpers/certificates.ts'
import { translated } from './translate.ts'

const base = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: agentgateway}
spec: {controllerName: agentgateway.dev/agentgateway}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec: {gatewayClassName: agentgateway, listeners: [{name: http, port: 8080, protocol: HTTP, allowedRoutes: {kinds: [{kind: HTTPRoute}, {group: agentgateway.dev, kind: ProxyModel}]}}]}
---
apiVersion: v1
kind: Service
metadata: {name: app, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: called, namespace: shop}
spec: {ports: [{name: main, port: 443}, {name: other, port: 444}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ca, namespace: shop}
data: {ca.crt: ${JSON.stringify(createAuthority('own').cert)}}
`
const REF = 'backendRef: {name: called, port: 443}'
const route = (more: string) => `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app, namespace: shop}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: app, port: 80}], ${more}}]
`
const policy = (spec: string) => `
apiVersion: agentgateway.dev/v1alpha1
kind: ProxyPolicy
metadata: {name: calling, namespace: shop}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: edge}], ${spec}}
---${route('')}`
const backend = (spec: string) => `
apiVersion: agentgateway.dev/v1alpha1
kind: ProxyBackend
metadata: {name: outer, namespace: shop}
spec: {${spec}}
`
const aimed = (section: string, members: string) => `
apiVersion: agentgateway.dev/v1alpha1
kind: ProxyPolicy
metadata: {name: aimed, namespace: shop}
spec: {targetRefs: [{group: '', kind: Service, name: called${section}}], backend: {${members}}}
`
const TLS = 'tls: {sni: login.test}'
const validation = (kind: string) => `
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: tls, namespace: shop}
spec:
  targetRefs: [{group: '', kind: Service, name: called}]
  validation: {hostname: login.test, caCertificateRefs: [{group: '', kind: ${kind}, name: ca}]}
`

const asYaml = async (...documents: string[]) =>
  renderTranslation(await translated({ 'case.yaml': [base, ...documents].join('---') }), 'yaml', false)

test.each([
  ['extAuth', policy(`traffic: {extAuth: {${REF}, grpc: {}}}`)],
  ['a conditional extAuth', policy(`traffic: {extAuth: {conditional: [{policy: {${REF}, grpc: {}}}]}}`)],
  ['extProc', policy(`traffic: {extProc: {${REF}}}`)],
  [
    'a global rate limit',
    policy(
      `traffic: {rateLimit: {global: {${REF}, domain: d, descriptors: [{entries: [{name: a, expression: 'request.path'}]}]}}}`,
    ),
  ],
  ['tracing', policy(`frontend: {tracing: {${REF}}}`)],
  ['an access log', policy(`frontend: {accessLog: {otlp: {${REF}}}}`)],
  ['a tunnel', backend(`static: {host: 10.0.0.7, port: 80}, policies: {tunnel: {${REF}}}`)],
  ['a token exchange', backend(`static: {host: 10.0.0.7, port: 80}, policies: {auth: {oauthTokenExchange: {${REF}}}}`)],
  ['a mirror', route('filters: [{type: RequestMirror, requestMirror: {backendRef: {name: called, port: 443}}}]')],
  [
    'an ExternalAuth filter',
    route(
      'filters: [{type: ExternalAuth, externalAuth: {protocol: GRPC, grpc: {}, backendRef: {name: called, port: 443}}}]',
    ),
  ],
])('%s calls a Service with the policies that target it', async (_, caller) => {
  const text = await asYaml(caller, aimed('', TLS))
  expect(text).toMatch(/backend: "?shop\/called:443/)
  expect(text).toMatch(
    /name: "?called:443"?\n\s+namespace: shop\n\s+host: .*\n\s+policies:\n\s+backendTLS:\n\s+hostname: login.test/,
  )
})

test('policies for one port of a Service apply only to that port', async () => {
  const caller = policy(`traffic: {extAuth: {${REF}, grpc: {}}}`)
  expect(await asYaml(caller, aimed(", sectionName: '443'", TLS))).toContain('login.test')
  expect(await asYaml(caller, aimed(", sectionName: '444'", TLS))).not.toContain('login.test')
})

test.each([
  ['a provider', backend(`ai: {provider: {custom: {${REF}, formats: [{type: Completions}]}}}`)],
  ['an MCP target', backend('mcp: {targets: [{name: t, static: {backendRef: {name: called}, port: 443}}]}')],
])('%s backed by a Service gets the policies that target it', async (_, called) => {
  expect(await asYaml(called, aimed('', TLS))).toMatch(/policies:\n\s+backendTLS:\n\s+hostname: login.test/)
})

test('a guard whose service cannot be trusted rejects every request', async () => {
  const made = await translated({
    'case.yaml': [base, policy(`traffic: {extAuth: {${REF}, grpc: {}}}`), validation('Secret')].join('---'),
  })
  expect(renderTranslation(made, 'yaml', false)).toMatch(/authorization:\n\s+rules:\n\s+- deny: "true"/)
  expect(made.finished.losses.map(({ message }) => message)).toContainEqual(
    expect.stringContaining('failed to build extAuth: BackendTLSPolicy'),
  )
})

test('an auth service that would have to authorize calls to itself is not called', async () => {
  const text = await asYaml(policy(`traffic: {extAuth: {${REF}, grpc: {}}}`), aimed('', `extAuth: {${REF}, grpc: {}}`))
  expect(text).toMatch(/authorization:\n\s+rules:\n\s+- deny: "true"/)
})

const model = `
apiVersion: agentgateway.dev/v1alpha1
kind: ProxyModel
metadata: {name: outer, namespace: shop}
spec: {parentRefs: [{name: edge}], provider: Custom, custom: {${REF}, formats: [{type: Completions}]}}
`

test('a model backed by a Service is called over its TLS, and is omitted without its guard', async () => {
  expect(await asYaml(model, aimed('', TLS))).toMatch(/tls:\n\s+hostname: login.test/)
  expect(await asYaml(model, aimed('', `extAuth: {${REF}, grpc: {}}`))).not.toContain('models:')
})

import { expect, test } from 'vitest'
import { createAuthority } from '../../helpers/certificates.ts'
import { translated, translatedText } from './translate.ts'

const resources = (backendRef: string, more: string) => `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: agentgateway}
spec: {controllerName: agentgateway.dev/agentgateway}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec: {gatewayClassName: agentgateway, listeners: [{name: http, port: 8080, protocol: HTTP}]}
---
apiVersion: agentgateway.dev/v1alpha1
kind: ProxyPolicy
metadata: {name: jwt, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: edge}]
  traffic:
    jwtAuthentication:
      providers: [{issuer: 'https://idp.test', jwks: {remote: {jwksPath: /keys, backendRef: ${backendRef}}}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ca, namespace: shop}
data: {ca.crt: ${JSON.stringify(createAuthority('own').cert)}}
---
apiVersion: v1
kind: Service
metadata: {name: idp, namespace: shop}
spec: {ports: [{port: 443}]}
---
${more}`

const backend = (policies: string) => `
apiVersion: agentgateway.dev/v1alpha1
kind: ProxyBackend
metadata: {name: idp, namespace: shop}
spec: {static: {host: 10.0.0.7, port: 443}${policies}}
`
const tls = '{sni: login.test, caCertificateRefs: [{name: ca}]}'
const aimed = (kind: string) => `
apiVersion: agentgateway.dev/v1alpha1
kind: ProxyPolicy
metadata: {name: tls, namespace: shop}
spec: {targetRefs: [{${kind}, name: idp}], backend: {tls: ${tls}}}
`
const OWN = 'group: agentgateway.dev, kind: ProxyBackend'
const validation = (kind: string) => `
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: tls, namespace: shop}
spec:
  targetRefs: [{group: '', kind: Service, name: idp}]
  validation: {hostname: login.test, caCertificateRefs: [{group: '', kind: ${kind}, name: ca}]}
`

test.each([
  ['the backend itself', `{${OWN}, name: idp}`, backend(`, policies: {tls: ${tls}}`)],
  ['a policy that targets it', `{${OWN}, name: idp}`, `${backend('')}---${aimed(OWN)}`],
  ['a policy that targets a Service', '{name: idp, port: 443}', aimed("group: '', kind: Service")],
  ['a BackendTLSPolicy', '{name: idp, port: 443}', validation('ConfigMap')],
])('TLS for a key set comes from %s', async (_, ref, more) => {
  const text = await translatedText(resources(ref, more), { filesDir: 'files' })
  expect(text).toMatch(/url: "https:\/\/[^/]+:443\/keys"\n/)
  expect(text).toMatch(/backendTLS:\n\s+(root: \S+\n\s+hostname: login.test|hostname: login.test\n\s+root: \S+)/)
})

test('a key set whose server cannot be trusted is not fetched in clear text', async () => {
  const all = await translated({ 'case.yaml': resources('{name: idp, port: 443}', validation('Secret')) })
  expect(JSON.stringify(all.finished.value)).not.toContain('http://')
})

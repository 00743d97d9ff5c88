import { expect, test } from 'vitest'
import { renderTranslation } from '../../../src/tools/input/translate-resources.ts'
import { startEnvoyServices } from '../../helpers/envoy-services.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { startUpstream } from '../../helpers/upstream.ts'
import { pass } from '../../policies/external/ext-proc-fixture.ts'
import { translated } from './translate.ts'

const resources = (pickerPort: string, more = '') => `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec: {gatewayClassName: agentgateway, listeners: [{name: http, port: 8080, protocol: HTTP}]}
---
apiVersion: v1
kind: Service
metadata: {name: picker, namespace: shop}
spec: {ports: [{name: grpc, port: 9002, appProtocol: kubernetes.io/h2c}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: picker-1, namespace: shop, labels: {kubernetes.io/service-name: picker}}
addressType: IPv4
ports: [{name: grpc, port: ${pickerPort}}]
endpoints: [{addresses: [127.0.0.1]}]
---
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: llama, namespace: shop}
spec:
  selector: {matchLabels: {app: llama}}
  targetPorts: [{number: 8000}]
  endpointPickerRef: {name: picker, port: {number: 9002}${more}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app, namespace: shop}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: llama}]}]
`

test('requests to an InferencePool go to the endpoint its picker selects', async () => {
  await using pod = await startUpstream((req, res) => res.end(`pod got ${req.url}`))
  await using picker = await startEnvoyServices({
    process(request, call) {
      if (!request.requestHeaders) return pass(request, call)
      const header = { key: 'x-gateway-destination-endpoint', rawValue: Buffer.from(pod.host) }
      call.write({ requestHeaders: { response: { headerMutation: { setHeaders: [{ header }] } } } })
    },
  })
  const made = await translated({ 'pool.yaml': resources(picker.host.split(':')[1]!) })
  expect(made.finished.losses).toEqual([])
  await using gateway = await startGateway(renderTranslation(made, 'yaml', false))
  expect(await (await fetch(`${gateway.url(8080)}/v1/models`)).text()).toBe('pod got /v1/models')
})

test('reports pool settings that are not supported', async () => {
  const made = await translated({ 'pool.yaml': resources('9002', ', failureMode: FailOpen') })
  expect(made.finished.losses.map(({ message }) => message)).toEqual([expect.stringContaining('`FailOpen`')])
})

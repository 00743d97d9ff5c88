import { expect, test } from 'vitest'
import { fileOf, translated } from './translate.ts'

const COSTS = JSON.stringify({ providers: { ollama: { models: { llama: { rates: { input: '1' } } } } } })
const resources = (costs: string) => `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: agentgateway}
spec: {controllerName: agentgateway.dev/agentgateway}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: agentgateway
  infrastructure: {parametersRef: {group: agentgateway.dev, kind: ProxyParameters, name: edge}}
  listeners: [{name: http, port: 8080, protocol: HTTP, allowedRoutes: {kinds: [{group: agentgateway.dev, kind: ProxyModel}]}}]
---
apiVersion: agentgateway.dev/v1alpha1
kind: ProxyModel
metadata: {name: llama, namespace: shop}
spec: {parentRefs: [{name: edge}], provider: Ollama, baseURL: "http://models.test:11434"}
---
apiVersion: agentgateway.dev/v1alpha1
kind: ProxyParameters
metadata: {name: edge, namespace: shop}
spec: {modelCatalog: {sources: [{configMap: {name: costs}}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: costs, namespace: shop}
data: {catalog.json: ${JSON.stringify(costs)}}
`

test('prices of models are carried from the parameters of the Gateway', async () => {
  const translation = await translated({ 'case.yaml': resources(COSTS) })
  expect(fileOf(translation).config).toEqual({ modelCatalog: [{ inline: COSTS }] })
  expect(translation.finished.losses).toEqual([])
})

test('a mistake in them is reported, and a missing key is a loss', async () => {
  const broken = await translated({ 'case.yaml': resources('{"providers":[]}') })
  expect(broken.finished.losses.map(({ message }) => message)).not.toEqual([])
  const absent = await translated({ 'case.yaml': resources(COSTS).replace('catalog.json:', 'other.json:') })
  expect(fileOf(absent).config).toBeUndefined()
  expect(absent.finished.losses).toMatchObject([{ code: 'GW602', message: expect.stringContaining('catalog.json') }])
})

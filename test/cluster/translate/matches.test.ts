import { expect, test } from 'vitest'
import { fileOf, translated } from './translate.ts'

test('the first of several matches for one header wins', async () => {
  const text = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app}
spec:
  parentRefs: [{name: edge}]
  rules:
  - matches:
    - headers: [{name: x-a, value: one}, {name: X-A, value: two}, {name: x-b, value: three}]
    backendRefs: [{name: app, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec: {gatewayClassName: agentgateway, listeners: [{name: http, port: 80, protocol: HTTP}]}
`
  const { routes } = fileOf(await translated({ 'case.yaml': text }, { partial: true })) as {
    routes: { matches: { headers: unknown }[] }[]
  }
  expect(routes[0]!.matches).toEqual([
    {
      path: { pathPrefix: '/' },
      headers: [
        { name: 'x-a', value: { exact: 'one' } },
        { name: 'x-b', value: { exact: 'three' } },
      ],
    },
  ])
})

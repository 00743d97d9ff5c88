import { describe, expect, test } from 'vitest'
import { load } from '../../../src/config/load.ts'
import { offlineRuntime } from '../../../src/config/offline-runtime.ts'

async function unserved(text: string): Promise<string[]> {
  const { found, runnable } = await findings(text, 'GW601')
  expect(runnable).toBe(found.length === 0)
  return found
}

async function findings(text: string, code: string) {
  const { diagnostics, runnable } = await load('config.yaml', text, {
    env: {},
    tier: 'offline',
    runtime: offlineRuntime(),
    readReferenced: () => undefined,
  })
  return { found: diagnostics.filter(d => d.code === code).map(d => String(d.path)), runnable }
}

const HEADERS = 'requestHeaderModifier: {set: {x-a: b}}'
const body = (side: string) => `transformations: {${side}: {body: '"b"'}}`
const mcp = (policies: string) =>
  `mcp: {targets: [{name: web, mcp: {host: 'http://m.test/mcp'}, policies: {${policies}}}]}`
const ai = (policies: string) =>
  `backends: [{name: b, ai: {groups: [{providers: [{name: p, provider: {openAI: {}}, policies: {${policies}}}]}]}}]`
const tcp = (policies: string) =>
  `binds: [{port: 1, listeners: [{protocol: TCP, policies: {${policies}}, tcpRoutes: [{backends: [{host: 'a:1'}]}]}]}]`

describe('settings served only in some places are not dropped silently elsewhere', () => {
  test.each([
    ['binds: [{mode: internal, listeners: []}]', 'binds[0].mode'],
    ['binds: [{port: 1, listeners: [{protocol: HBONE}]}]', 'binds[0].listeners[0].protocol'],
    [tcp(`authorization: {rules: ['true']}`), 'binds[0].listeners[0].policies.authorization'],
    ['gateways: {a: {port: 1, protocol: TCP, cors: {}}}', 'gateways.a.cors'],
    [
      `routeGroups: [{name: g, routes: []}]\nbinds: [{port: 1, listeners: [{routes: [{backends: [{routeGroup: g, policies: {${HEADERS}}}]}]}]}]`,
      'binds[0].listeners[0].routes[0].backends[0].policies',
    ],
    [
      `backends: [{name: b, host: 'a:1', policies: {sessionAffinity: {source: request.path}}}]`,
      'backends[0].policies.sessionAffinity',
    ],
    [mcp(body('request')), 'mcp.targets[0].policies.transformations.request.body'],
    [mcp(`transformations: {response: {set: {x: '"y"'}}}`), 'mcp.targets[0].policies.transformations'],
    [
      `frontendPolicies: {tracing: {host: 'a:1', policies: {transformations: {response: {set: {x: '"y"'}}}}}}`,
      'frontendPolicies.tracing.policies.transformations.response',
    ],
    [ai(body('response')), 'backends[0].ai.groups[0].providers[0].policies.transformations.response.body'],
    [
      ai(`transformations: {conditional: [{request: {body: '"b"'}}]}`),
      'backends[0].ai.groups[0].providers[0].policies.transformations.conditional[0].request.body',
    ],
  ])('%s', async (text, place) => {
    expect(await unserved(text)).toEqual([place])
  })

  test.each([
    [tcp('')],
    ['gateways: {a: {port: 1, protocol: HTTP, cors: {}}}'],
    [mcp(`${HEADERS}, transformations: {request: {set: {x: '"y"'}}}`)],
    [ai(`transformations: {request: {set: {x: '"y"'}}, response: {set: {x: '"y"'}}}`)],
  ])('%s is served', async text => {
    expect(await unserved(text)).toEqual([])
  })
})

test.each([
  ['gateways: {a: {port: 1, protocol: HTTP, tls: {cert: c, key: k}}}', 'gateways.a.tls'],
  ['gateways: {a: {port: 1, protocol: HTTPS, tls: {cert: c, key: k}}}'],
  ['gateways: {a: {port: 1, listeners: [{protocol: TCP, hostname: a.test}]}}', 'gateways.a.listeners[0].hostname'],
  ['gateways: {a: {port: 1, listeners: [{protocol: TLS, hostname: a.test}]}}'],
  [
    'gateways: {a: {port: 1, listeners: [{protocol: TCP}, {protocol: TCP, hostname: a.test}]}}',
    'gateways.a.listeners[1]',
  ],
  ['gateways: {a: {port: 1}}\nllm: {gateways: a, tls: {cert: c, key: k}, models: []}', 'llm.tls'],
])('a field overruled by another one is reported: %s', async (text, ...places) => {
  expect((await findings(text, 'GW546')).found).toEqual(places)
})

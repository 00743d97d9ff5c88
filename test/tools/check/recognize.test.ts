import { describe, expect, test } from 'vitest'
import { parseSource } from '../../../src/diagnostics/source.ts'
import { looksLikeOurs, recognize } from '../../../src/tools/check/recognize.ts'

const found = (text: string) => recognize(parseSource('a.yaml', text).documents[0]!)

describe('a file of another tool is skipped with a reason', () => {
  test.each([
    ['services: {web: {image: nginx, ports: ["80:80"]}}', 'a Compose file'],
    ['apiVersion: v2\nname: app\nversion: 1.0.0', 'a Helm chart'],
    ['config: {logging: {level: info}}\nimage: x\nroutes: []', 'values of a Helm chart'],
    ['resources: [../base]\npatches: []', 'a kustomization'],
    ['on: [push]\njobs: {a: {runs-on: x, services: {}}}', 'a GitHub workflow'],
    ['stages: [a]\nservices: [docker]', 'a GitLab pipeline'],
    ['version: 2\njobs: {}\nworkflows: {}', 'a CircleCI configuration'],
    ['- hosts: all\n  tasks: []', 'a list'],
    ['openapi: 3.0.0\npaths: {}', 'an OpenAPI document'],
    ['scrape_configs: []', 'a Prometheus configuration'],
    ['route: {routes: []}\nreceivers: []', 'an Alertmanager configuration'],
    ['receivers: {}\nservice: {}', 'an OpenTelemetry Collector configuration'],
    ['static_resources: {listeners: []}', 'an Envoy configuration'],
    ['http: {routers: {a: {}}, services: {b: {}}}\nentryPoints: {}', 'a Traefik configuration'],
    ['_format_version: "3.0"\nservices: [{name: a, routes: []}]', 'a Kong configuration'],
    ['services: [{name: a, url: x}]\nroutes: [{name: r, paths: [/]}]', 'keys: services, routes'],
    ['routes: [{uri: /a, upstream: {}}]', 'keys: routes'],
    ['routes: [{src: /a, dest: /b}]', 'keys: routes'],
    ['listeners: {}\nroutes: [{match: {}, action: {}}]', 'keys: listeners, routes'],
    ['endpoints: [{endpoint: /x, backend: []}]', 'a KrakenD configuration'],
    ['model_list: []', 'a LiteLLM configuration'],
    ['mcpServers: {}', 'an MCP client configuration'],
    ['policies: [{name: x, resource: ec2}]', 'keys: policies'],
    ['backends: [{name: a, address: 10.0.0.1}]', 'keys: backends'],
    ['llm: {provider: openai, models: [a, b]}', 'keys: llm'],
    ['mcp: {enabled: true, port: 3000}\nconfig: {logging: {level: debug}}', 'keys: mcp, config'],
    ['binds: ["127.0.0.1:80"]', 'keys: binds'],
    ['gateways: [a, b]', 'keys: gateways'],
    ['gateways: {eu: {address: 10.0.0.1, region: eu}}', 'keys: gateways'],
    ['version: 2\nupdates: []', 'a Dependabot configuration'],
    ['repos: []', 'a pre-commit configuration'],
    ['site_name: x', 'a MkDocs configuration'],
    ['name: x\nscripts: {}\nconfig: {adminAddr: "8080"}', 'a Node.js package'],
    ['apiVersion: 1\ndatasources: []', 'a Grafana provisioning file'],
    ['kind: 3\nname: x', 'keys: kind, name'],
    ['binds: []\nsops: {mac: x}', 'encrypted with SOPS: check what `sops --decrypt` prints'],
  ])('%j', (text, reason) => {
    expect(found(text)).toEqual({ kind: 'foreign', reason })
  })
})

describe('a gateway config is recognized even with a misspelled key', () => {
  const binds = (key: string, rest = '') => `${key}: [{port: 1, listeners: [{routes: []}]}]\n${rest}`
  test.each([
    binds('binds'),
    binds('bind'),
    binds('listen'),
    binds('Binds', 'version: 1'),
    'binds: [{prot: 1, listners: []}]',
    'binds: []',
    'gateways: {default: {port: 80}}',
    'gateway: {default: {port: 80}}\nroutes: []',
    'routes: [{matches: [{path: {exact: /a}}], policies: {}}]',
    'route: [{backends: [{hots: "x:1"}]}]',
    'llm: {models: [{name: a, provider: openAI}]}',
    'llm: {model: [{name: a, provider: openAI}]}',
    'mcp: {targets: [{name: a, stdio: {cmd: npx}}]}',
    'mpc: {targets: [{name: a, stdio: {cmd: npx}}]}',
    'mcp: {target: [{name: a, mpc: {host: "x:1"}, sse: {}}]}',
    'policies: [{name: {name: a}, target: {gateway: {}}, policy: {}}]',
    'backends: [{name: a, host: "x:1"}]',
    'config: {adminAddr: "127.0.0.1:1"}',
    'frontendPolicies: {http: {}}',
    'routeGroups: [{name: a, routes: [{backends: [{host: "x:1"}]}]}]',
  ])('%j', text => {
    expect(found(text)).toEqual({ kind: 'standalone' })
  })

  test.each([
    'apiVersion: v1\nkind: Secret',
    'apiVersion: gateway.networking.k8s.io/v1\nknid: HTTPRoute\nmetadata: {}\nspec: {}',
    'kind: HTTPRoute\nmetadata: {}\nspec: {}',
    'apiversion: gateway.networking.k8s.io/v1\nKind: HTTPRoute\nmetadata: {}\nspec: {}',
  ])('%j', text => {
    expect(found(text)).toEqual({ kind: 'resource' })
  })
})

test.each([
  ['binds: [', true],
  ['gateways:\n  a:\n    port: [', true],
  ['gateways:\n  a: [', false],
  ['routes:\n- backends: [', true],
  ['routes:\n- uri: [', false],
  ['apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nspec: [', true],
  ['apiVersion: networking.istio.io/v1\nkind: Gateway\nspec: [', false],
  ['services: [', false],
])('an unparsable text: %j', (text, ours) => {
  expect(looksLikeOurs(text)).toBe(ours)
})

import { expect, test } from 'vitest'
import { dumpOf } from '../../src/config/dump.ts'
import { load } from '../../src/config/load.ts'
import { offlineRuntime } from '../../src/config/offline-runtime.ts'
import { startGateway } from '../helpers/gateway.ts'

const S = 'sk-secret'
const FILE = `
config: {session: {key: ${'5ec7e7'.repeat(10)}aaaa}}
backends:
- {name: upper, host: 'upper.test:80', policies: {backendAuth: {key: ${S}}}}
binds:
- port: 80
  listeners:
  - routes:
    - name: headers
      matches: [{path: {exact: /a}, headers: [{name: X-Api-Key, value: {exact: ${S}}}, {name: x-team, value: {exact: red}}]}]
      policies:
        requestHeaderModifier: {set: {authorization: ${S}}, add: {x-team: red}}
        basicAuth: {htpasswd: 'bob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='}
        apiKey: {keys: [{key: ${S}, metadata: {team: red}}]}
        jwtAuth: {issuer: 'https://i.test', audiences: [a], jwks: {url: 'https://u:${S}@i.test/keys?token=${S}'}}
      backends: [{backend: /upper}]
    - name: tools
      backends:
      - mcp:
          targets:
          - {name: web, mcp: {host: 'http://127.0.0.1:3/mcp?key=${S}&of=$KEY'}}
          - {name: path, sse: {host: 127.0.0.1, port: 4, path: '/sse?key=${S}'}}
          - {name: url, stdio: {cmd: db, args: ['postgres://u:${S}@db/x', --key=$KEY, plain]}}
          - {name: env, stdio: {cmd: db, env: {ANY: ${S}}}}
llm:
  port: 81
  models:
  - {name: m, provider: openAI, params: {apiKey: ${S}, pathOverride: '/v1?key=${S}'}, matches: [{headers: [{name: authorization, value: {exact: ${S}}}]}]}
`

test('a dump shows where a secret is, but not the secret itself', async () => {
  await using gateway = await startGateway(FILE, { env: { KEY: `${S}-of-a-variable` } })
  const dump = dumpOf(gateway.gateway.snapshot!, '1')
  const text = JSON.stringify(dump)
  expect(text).not.toContain(S)
  expect(text).not.toContain('5ec7e7')
  expect(text).not.toContain('{SHA}')
  expect(dump.routes[0]?.matches[0]?.headers).toEqual([
    { name: 'X-Api-Key', value: '<redacted>' },
    { name: 'x-team', value: { exact: 'red' } },
  ])
  for (const shown of [
    '{"set":{"authorization":"<redacted>"},"add":{"x-team":"red"}}',
    'https://<redacted>@i.test/keys?token=<redacted>',
    'http://127.0.0.1:3/mcp?key=<redacted>&of=<redacted>',
    '/sse?key=<redacted>',
    '/v1?key=<redacted>',
    '"args":["postgres://<redacted>@db/x","--key=$KEY","plain"]',
    '"headers":[{"name":"authorization","value":"<redacted>"}]',
  ]) {
    expect(text).toContain(shown)
  }
})

test.each([
  ['the address of an MCP server', `mcp: {targets: [{name: a, mcp: {host: 'http://u:${S}@h.test/mcp'}}]}`],
  ['an MCP server address without a scheme', `mcp: {targets: [{name: a, mcp: {host: 'u:${S}@h.test'}}]}`],
  ['a host', `backends: [{name: a, host: 'u:${S}@h.test:80'}]`],
  ['a host with a scheme', `backends: [{name: a, host: 'https://u:${S}@h.test/x'}]`],
  ['a base URL', `llm: {models: [{name: a, provider: openAI, params: {baseUrl: '//u:${S}@h.test'}}]}`],
  ['a path', `llm: {models: [{name: a, provider: openAI, params: {pathOverride: 'v1://h/?k=${S}'}}]}`],
])('an error in %s does not reveal its secrets', async (_, text) => {
  const loaded = await load('a.yaml', text, {
    env: {},
    tier: 'offline',
    runtime: offlineRuntime(),
    readReferenced: () => undefined,
  })
  const [first] = loaded.diagnostics
  expect(first?.severity).toBe('error')
  expect(JSON.stringify([first?.message, first?.help, first?.label])).not.toContain(S)
})

import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { def, object, opt, string } from '../../../src/schema/builder.ts'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { startOpenAiServer } from '../../helpers/openai-server.ts'
import { effectiveFields, FieldWatch } from './field-watch.ts'

const watch = vi.hoisted(() => ({ fields: undefined as FieldWatch | undefined }))

// A lint that reads a field does not serve it.
vi.mock('../../../src/config/lints/index.ts', () => ({ lint: () => {} }))
vi.mock('../../../src/schema/decode-object.ts', async original => {
  const real = await original<typeof import('../../../src/schema/decode-object.ts')>()
  const decodeObject: typeof real.decodeObject = (node, value, path, ctx, decodeNode) => {
    const decoded = real.decodeObject(node, value, path, ctx, decodeNode)
    if (typeof decoded !== 'object' || decoded === null) return decoded
    const watched = watch.fields!.watch(node, decoded as Record<string, unknown>)
    ctx.paths?.set(watched, [...path])
    return watched
  }
  return { ...real, decodeObject }
})
watch.fields = new FieldWatch()

const { load } = await import('../../../src/config/load.ts')
const { offlineRuntime } = await import('../../../src/config/offline-runtime.ts')
const { standalone } = await import('../../../src/config/standalone/standalone.ts')
const { startGateway } = await import('../../helpers/gateway.ts')

const { cert, key } = createCertificate(createAuthority('test authority'), ['a.test'])

/** What no fixture sets. */
const MORE = [
  `
binds: [{port: 8443, listeners: [{protocol: HTTPS, routes: [], tls: {cert: c, key: k, cipherSuites: [TLS_AES_128_GCM_SHA256]}}]},
  {port: 5432, listeners: [{protocol: TCP, tcpRoutes: [{
    policies: {backendTLS: {}, backendTunnel: {proxy: {service: {name: n/p.test, port: 1}}}},
    backends: [{service: {name: n/p.test, port: 1}}, {dynamic: {}}]}]}]}]
services: [{name: p, namespace: n, hostname: p.test, vips: [], ports: {"1": 1}, loadBalancer: {mode: Strict, routingPreferences: [Zone]}}]
workloads: [{workloadIps: [], hostname: w.test, namespace: n, services: {n/p.test: {"1": 2}}}]
backends:
- {name: aws, aws: {agentCore: {agentRuntimeArn: 'arn:aws:bedrock-agentcore:eu-west-1:123456789012:runtime/a'}}, policies: {backendAuth: {aws: {
    assumeRole: {roleArn: 'arn:aws:iam::123456789012:role/r', sessionName: {expression: 'jwt.sub'}, tags: [
    {key: a, value: b}, {key: c, expression: 'jwt.sub'}]}}}}}
- {name: rock, ai: {provider: {bedrock: {model: m, region: us-east-1, guardrailIdentifier: g, guardrailVersion: '1'}}}}
- {name: vertex, ai: {provider: {vertex: {model: m, region: eu, projectId: p}}}}
- {name: azure, ai: {provider: {azure: {model: m, resourceName: r, resourceType: foundry, apiVersion: v1, projectName: p}}},
    policies: {backendAuth: {azure: {implicit: {}}}}}
- {name: copilot, ai: {provider: {copilot: {model: m}}}, policies: {backendAuth: {azure: {explicitConfig: {workloadIdentity: {}}}}}}
- {name: moderated, ai: {provider: {openAI: {moderation: {model: m, policy: {input: {mode: block}, output: {mode: score}}}}}}}
- {name: secret, host: 'h.test:1', policies: {backendAuth: {azure: {explicitConfig: {clientSecret: {tenant_id: t, client_id: c, client_secret: s}}}}}}
- {name: machine, host: 'h.test:1', policies: {backendAuth: {azure: {explicitConfig: {managedIdentity: {userAssignedIdentity: {objectId: o}}}}}}}
- {name: one, ai: {name: one, provider: {gemini: {model: m}}, hostOverride: 'h.test:1', pathOverride: /o, pathPrefix: /p,
    policies: {backendAuth: {key: k}, backendTLS: {}, backendTunnel: {proxy: {host: 'p.test:1'}}, http: {}, tcp: {},
      requestHeaderModifier: {}, transformations: {}}}}
policies:
- {name: {name: a}, target: {route: {name: r, kind: HTTPRoute}}, policy: {cors: {}}}
- {name: {name: b}, target: {backend: {service: {hostname: p.test, namespace: n, port: 1}}}, policy: {tcp: {}}}
gateways:
  a: {port: 1, apiKey: {keys: []}, authorization: {rules: [{allow: 'true'}]}, basicAuth: {htpasswd: 'a:{SHA}0DPiKuNIrrVmD8IUCuw1hQxNqZc='}, jwtAuth:
    {issuer: i, jwks: '{"keys":[]}', jwtValidationOptions: {requiredClaims: [exp]}, location: {cookie: {name: c}}}, transformations: {}}
  b: {port: 2, jwtAuth: {issuer: i, jwks: '{"keys":[]}', location: {queryParameter: {name: q}}}}
  c: {port: 3, jwtAuth: {issuer: i, jwks: '{"keys":[]}', location: {expression: 'request.path'}}}
  d: {port: 4, jwtAuth: {issuer: i, jwks: '{"keys":[]}', location: {header: {name: x-h, prefix: 'P '}}}, cors: {}}
  e: {port: 5, listeners: [{apiKey: {keys: []}, authorization: {rules: []}, basicAuth: {htpasswd: 'a:{SHA}0DPiKuNIrrVmD8IUCuw1hQxNqZc='}, cors: {}, transformations: {},
    jwtAuth: {issuer: i, jwks: '{"keys":[]}'}}]}
routes: [{name: r, gateways: a}]
frontendPolicies: {networkAuthorization: {rules: [{allow: 'true'}, {require: 'true'}]}}
`,
  `
config:
  database: {url: 'sqlite://requests.db'}
  storage: {mode: file}
  standardAttributes: {user: jwt.sub, group: jwt.team}
  modelCatalog:
  - {file: catalog.json}
  - inline: {providers: {openai: {models: {m: {tags: [t], tiers: [{contextOver: 1, rates: {input: 1}}], rates: {input: 1, output: 1,
      cacheRead: 1, cacheWrite: 1, reasoning: 1, inputAudio: 1, outputAudio: 1}}}}}}
llm:
  tls: {cert: c, key: k}
  models:
  - {name: a, provider: {custom: {formats: [{type: completions}]}}, params: {baseUrl: 'http://a.test'}}
  - {name: b, provider: openAI, matches: [{headers: [{name: x, value: {exact: a}}, {name: y, value: {regex: b}}]}]}
  - {name: c, provider: {reference: own}}
  - {name: d, provider: azure, params: {azureResourceName: r, azureResourceType: openAI, azureApiVersion: v1, azureProjectName: p}}
  - {name: e, provider: vertex, params: {vertexProject: p, vertexRegion: us}}
  - {name: f, provider: bedrock, params: {awsRegion: eu-west-1}}
  providers: [{name: own, provider: {custom: {formats: [{type: completions}]}}, params: {baseUrl: 'http://a.test'}}]
`,
  `
config: {logging: {database: {url: {file: database.url}}}}
frontendPolicies: {accessLog: {database: {llm: metadata, add: {a: request.path}}}}
`,
]

/** What is read while requests are served only. */
const served = (port: number) => `
frontendPolicies: {http: {pathNormalization: {dotSegments: resolve, mergeSlashes: true, decodeUnreserved: true, encodedSlashes: reject}}}
binds: [{port: 8080, listeners: [{routes: [
  {matches: [{path: {exact: /a}}, {path: {regex: /a+}, method: GET, headers: [{name: a, value: {exact: b}}, {name: a, value: {regex: b}}],
    query: [{name: a, value: {exact: b}}, {name: a, value: {regex: b}}]}],
    policies: {basicAuth: {htpasswd: 'a:{SHA}0DPiKuNIrrVmD8IUCuw1hQxNqZc=', mode: optional}, directResponse: {status: 200, body: text, headers: {x-a: '"b"'}}}},
  {matches: [{path: {exact: /b}}], policies: {directResponse: {status: 200, bodyExpression: '"b"'}}},
  {matches: [{path: {pathPrefix: /v1}}], policies: {ai: {prompts: {append: [{role: user, content: a}], prepend: [{role: user, content: b}]}}},
    backends: [{ai: {provider: {openAI: {}}, hostOverride: '127.0.0.1:${port}'}}]},
  {matches: [{path: {exact: /bedrock}}], policies: {ai: {promptCaching: {cacheSystem: true, cacheTools: true, minTokens: 1}}},
    backends: [{ai: {provider: {bedrock: {}}, hostOverride: '127.0.0.1:${port}'}, policies: {backendAuth: {key: k}}}]},
  {matches: [{path: {pathPrefix: /s}}], backends: [{service: {name: n/p.test, port: 1}, policies: {health: {unhealthyExpression: 'response.code == 404',
    eviction: {duration: 1s, restoreHealth: 0.5, consecutiveFailures: 2, healthThreshold: 0.5}}}}]}]}]}]
services: [{name: p, namespace: n, hostname: p.test, vips: [], ports: {"1": 1}, loadBalancer: {mode: Strict, routingPreferences: [Zone]}}]
workloads: [{workloadIps: [127.0.0.1], namespace: n, services: {n/p.test: {"1": ${port}}}}]
`

const REFERENCED: Readonly<Record<string, string>> = { '.json': '{}', '.url': 'sqlite://requests.db' }

async function compile(file: string, text: string): Promise<readonly string[]> {
  const { diagnostics } = await load(file, text, {
    env: {},
    tier: 'offline',
    runtime: offlineRuntime(),
    readReferenced: path => Buffer.from(REFERENCED[extname(path)] ?? cert + key),
  })
  return diagnostics.filter(d => d.severity === 'error').map(d => `${d.path} ${d.message}`)
}

async function serve(): Promise<void> {
  await using upstream = await startOpenAiServer()
  await using gateway = await startGateway(served(upstream.port))
  const url = gateway.url(8080)
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
  await fetch(`${url}/v1/chat/completions`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  const long = JSON.stringify({
    model: 'anthropic.claude-3-5-sonnet',
    messages: ['system', 'user', 'assistant', 'user'].map(role => ({ role, content: 'long '.repeat(2000) })),
  })
  await (await fetch(`${url}/bedrock`, { method: 'POST', body: long })).text()
  for (const path of ['/a', '/aa?a=b', '/b', '/s', '/s', '//%62'])
    await (await fetch(url + path, { headers: { a: 'b' } })).text()
}

describe('every accepted field is served or reported as unserved', () => {
  test('each field is read by its name', async () => {
    for (const folder of ['ok', 'realistic']) {
      const root = new URL(`../../../fixtures/${folder}/`, import.meta.url)
      for (const name of readdirSync(root).filter(file => file.endsWith('.yaml'))) {
        await compile(name, readFileSync(new URL(name, root), 'utf8'))
      }
    }
    const mistakes: string[] = []
    for (const text of MORE) mistakes.push(...(await compile('more.yaml', text)))
    expect(mistakes).toEqual([])
    await serve()

    const fields = effectiveFields(standalone)
    expect(fields.length).toBeGreaterThan(650)
    expect(fields.filter(field => !watch.fields!.wasRead(field)).map(({ path }) => path)).toEqual([])
  })
})

test('a field that is only copied is detected', () => {
  const schema = object('thing', {
    used: opt(string(), 'Asked for.'),
    dead: opt(string(), 'Copied, listed and written as JSON.'),
    inner: opt(object('inner', { dead: opt(string(), 'Of an object that is asked for.') }), 'Asked for.'),
    fallback: def(string(), 'x', 'Set by default.'),
    unserved: opt(string(), 'Refused.', { unserved: 'Not yet.' }),
    inert: opt(string(), 'Describes.', { inert: 'It is a name.' }),
  })
  const fields = effectiveFields(schema)
  const watched = new FieldWatch()
  const inner = watched.watch((schema.node.fields.inner.schema as typeof schema).node, { dead: 'c' })
  const value = watched.watch(schema.node, { used: 'a', dead: 'b', inner, fallback: 'x' })
  const copy = { ...value }
  const { used, inner: { ...rest } = {}, ...others } = value as Record<string, Record<string, unknown>>
  expect([JSON.stringify(value), Object.values(copy).length, used, rest, Object.keys(others)]).toBeDefined()
  expect(fields.filter(field => !watched.wasRead(field)).map(({ path }) => path)).toEqual([
    '.dead',
    '.inner.dead',
    '.fallback',
  ])
})

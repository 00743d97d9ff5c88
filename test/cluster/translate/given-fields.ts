import type { Path, Single } from './single-fields.ts'

/** Fields that rules over several fields keep from standing with what the generator finds: written by hand. */
const EXCHANGE = {
  oauthTokenExchange: {
    url: 'https://a.example/token',
    requestedTokenType: 'Jwt',
    actorToken: { source: { header: { name: 'X-A' } }, tokenType: 'Jwt', mayAct: 'Required' },
  },
}
const GATEWAY = 'gateway.networking.k8s.io'
const SLOW = { traffic: { timeouts: { request: '5s' } } }
const POOL = { group: 'inference.networking.k8s.io', kind: 'InferencePool', name: 'a' }
const COMPLETIONS = { type: 'Completions', path: '/x' }
const CUSTOM = { custom: { model: 'm', formats: [COMPLETIONS], backendRef: { name: 'a', port: 80 } } }
const POOLED = { custom: { formats: [{ type: 'Completions' }], backendRef: POOL } }
const PREFIXED = { openai: {}, host: 'a.example', port: 443, pathPrefix: '/p' }

const inGroups = (provider: object) => ({ ai: { groups: [{ providers: [{ name: 'p', ...provider }] }] } })
const stat = (policies: object) => ({ static: { host: 'a.example', port: 80 }, policies })

const SPECS: Readonly<Record<string, readonly object[]>> = {
  ProxyPolicy: [
    {
      targetRefs: [{ group: GATEWAY, kind: 'HTTPRoute', name: 'a' }],
      backend: { auth: EXCHANGE },
    },
    ...[
      { kind: 'HTTPRoute', name: 'a', sectionName: 'a' },
      { kind: 'Gateway', name: 'a', sectionName: 'a' },
    ].map(ref => ({ targetRefs: [{ group: GATEWAY, ...ref }], ...SLOW })),
    ...[
      { kind: 'HTTPRoute', matchLabels: { a: 'z' } },
      { kind: 'HTTPRoute', sectionName: 'a', matchLabels: { a: 'z' } },
    ].map(selector => ({ targetSelectors: [{ group: GATEWAY, ...selector }], ...SLOW })),
    {
      targetSelectors: [{ group: GATEWAY, kind: 'Gateway', port: 9, matchLabels: { a: 'z' } }],
      frontend: { tcp: { keepalive: {} } },
    },
    { targetRefs: [{ group: GATEWAY, kind: 'Gateway', name: 'a', port: 9 }], frontend: { tcp: { keepalive: {} } } },
  ],
  ProxyBackend: [
    ...[CUSTOM, POOLED, PREFIXED].flatMap(provider => [{ ai: { provider } }, inGroups(provider)]),
    inGroups({ openai: {}, policies: { auth: EXCHANGE } }),
    { mcp: { targets: [{ name: 't', static: { host: 'a.example', port: 80, policies: { auth: EXCHANGE } } }] } },
    stat({ auth: EXCHANGE }),
  ],
  ProxyModel: [
    // One that is right says what leaving it out says.
    ...[{ sectionName: 'z' }, { port: 9 }, { namespace: 'z' }, { kind: 'ListenerSet' }, { group: 'z.example' }].map(
      ref => ({ provider: 'OpenAI', parentRefs: [{ name: 'a', ...ref }] }),
    ),
    { provider: 'Azure', azure: { resourceName: 'r', resourceType: 'Foundry', apiVersion: 'v9', projectName: 'p' } },
    { provider: 'VertexAI', vertexai: { projectId: 'p', region: 'r' } },
    { provider: 'Bedrock', bedrock: { region: 'eu-west-1', guardrail: { identifier: 'g', version: '1' } } },
    { provider: 'Custom', custom: { formats: [COMPLETIONS], backendRef: { name: 'a', port: 80 } } },
    { provider: 'Custom', custom: { formats: [{ type: 'Completions' }], backendRef: POOL } },
    { provider: 'OpenAI', policies: { auth: EXCHANGE } },
  ],
}

/** Each leaf of the specs by itself. */
export function* given(kind: string): Generator<Single> {
  for (const value of SPECS[kind] ?? []) for (const path of leafPaths(value, [])) yield { path, value }
}

function* leafPaths(value: unknown, path: Path): Generator<Path> {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) {
    yield path
    return
  }
  for (const [key, inner] of Object.entries(value)) {
    yield* leafPaths(inner, [...path, Array.isArray(value) ? Number(key) : key])
  }
}

/** Small valid resources to which the tables of rules add one field at a time. */
const meta = { metadata: { name: 'x' } }
const own = (kind: string, spec: unknown) => ({ apiVersion: 'agentgateway.dev/v1alpha1', kind, ...meta, spec })
const backend = (spec: unknown) => own('ProxyBackend', spec)
const gatewayApi = { group: 'gateway.networking.k8s.io' }
const policy = (kind: string, sections: object) =>
  own('ProxyPolicy', { targetRefs: [{ ...gatewayApi, kind, name: 'target' }], ...sections })
const parentRefs = [{ name: 'gw' }]
const model = (spec: object) => own('ProxyModel', { parentRefs, ...spec })
const service = { name: 'svc', port: 80 }
const keys = { issuer: 'https://issuer', jwks: { inline: '{}' } }
const exchange = { backendRef: service, clientAuth: { clientId: 'c', method: 'ClientSecretPost' } }
const server = () => ({ backendRef: service, clientAuth: { clientId: 'c', method: 'ClientSecretPost' } })

export const BASES = {
  static: backend({ static: { host: 'h', port: 80 } }),
  a2a: backend({ a2a: { host: 'h', port: 80 } }),
  aws: backend({ aws: { agentCore: { agentRuntimeArn: 'arn' } } }),
  dynamic: backend({ dynamicForwardProxy: {} }),
  mcp: backend({ mcp: { targets: [{ name: 't', static: { host: 'h', port: 80 } }] } }),
  mcpService: backend({ mcp: { targets: [{ name: 't', static: { backendRef: { name: 's' }, port: 80 } }] } }),
  mcpSelector: backend({ mcp: { targets: [{ name: 't', selector: { services: {} } }] } }),
  openai: backend({ ai: { provider: { openai: {} } } }),
  azureopenai: backend({ ai: { provider: { azureopenai: { endpoint: 'e' } } } }),
  bedrock: backend({ ai: { provider: { bedrock: {} } } }),
  custom: backend({ ai: { provider: { custom: { formats: [{ type: 'Completions' }] }, host: 'h', port: 80 } } }),
  groups: backend({ ai: { groups: [{ providers: [{ name: 'p', openai: {} }] }] } }),
  model: model({ provider: 'OpenAI' }),
  bedrockModel: model({ provider: 'Bedrock', bedrock: {} }),
  customModel: model({ provider: 'Custom', custom: { formats: [{ type: 'Completions' }], backendRef: service } }),
  conditional: model({ virtualModel: { conditional: { targets: [{ modelRef: { name: 'm' } }] } } }),
  failover: model({ virtualModel: { failover: { targets: [{ modelRef: { name: 'm' }, priority: 0 }] } } }),
  weighted: model({ virtualModel: { weighted: { targets: [{ modelRef: { name: 'm' } }] } } }),
  parameters: own('ProxyParameters', {}),
  shutdown: own('ProxyParameters', { shutdown: { min: 0, max: 0 } }),
  catalog: own('ProxyParameters', { modelCatalog: { sources: [{ configMap: { name: 'costs' } }] } }),
  traffic: policy('Gateway', { traffic: {} }),
  routeTraffic: policy('HTTPRoute', { traffic: {} }),
  frontend: policy('Gateway', { frontend: { tcp: { keepalive: {} } } }),
  accessLog: policy('Gateway', { frontend: { accessLog: {} } }),
  otlp: policy('Gateway', { frontend: { accessLog: { otlp: { backendRef: service } } } }),
  tracing: policy('Gateway', { frontend: { tracing: { backendRef: service } } }),
  metrics: policy('Gateway', { frontend: { metrics: { attributes: { add: [{ name: 'n', expression: '"v"' }] } } } }),
  backend: policy('HTTPRoute', { backend: { tcp: {} } }),
  selector: own('ProxyPolicy', {
    targetSelectors: [{ ...gatewayApi, kind: 'Gateway', matchLabels: { a: 'b' } }],
    traffic: {},
  }),
  directResponse: policy('Gateway', { traffic: { directResponse: { status: 200 } } }),
  conditionalResponse: policy('Gateway', {
    traffic: { directResponse: { conditional: [{ condition: 'true', policy: { status: 200 } }] } },
  }),
  delay: policy('Gateway', { traffic: { delay: { duration: '2s' } } }),
  buffer: policy('Gateway', { traffic: { buffer: { request: {} } } }),
  csrf: policy('Gateway', { traffic: { csrf: {} } }),
  extAuth: policy('Gateway', { traffic: { extAuth: { backendRef: service, grpc: {} } } }),
  extAuthHttp: policy('Gateway', { traffic: { extAuth: { backendRef: service, http: {} } } }),
  extAuthCache: policy('Gateway', {
    traffic: { extAuth: { backendRef: service, http: {}, cache: { key: ['request.path'], ttl: '5m' } } },
  }),
  extProc: policy('Gateway', { traffic: { extProc: { backendRef: service } } }),
  local: policy('Gateway', { traffic: { rateLimit: { local: [{ requests: 1, unit: 'Seconds' }] } } }),
  global: policy('Gateway', {
    traffic: {
      rateLimit: {
        global: {
          backendRef: service,
          domain: 'd',
          descriptors: [{ entries: [{ name: 'n', expression: 'source.address' }] }],
        },
      },
    },
  }),
  jwt: policy('Gateway', { traffic: { jwtAuthentication: { providers: [keys] } } }),
  remoteJwt: policy('Gateway', {
    traffic: {
      jwtAuthentication: {
        providers: [{ issuer: 'i', jwks: { remote: { backendRef: service, jwksPath: '/keys' } } }],
      },
    },
  }),
  apiKey: policy('Gateway', { traffic: { apiKeyAuthentication: { secretRef: { name: 's' } } } }),
  basic: policy('Gateway', { traffic: { basicAuthentication: { users: ['a:b'] } } }),
  tls: policy('HTTPRoute', { backend: { tls: {} } }),
  tunnel: policy('HTTPRoute', { backend: { tunnel: { backendRef: service } } }),
  health: policy('HTTPRoute', { backend: { health: { eviction: {} } } }),
  auth: policy('HTTPRoute', { backend: { auth: { key: 'k' } } }),
  azureAuth: policy('HTTPRoute', { backend: { auth: { azure: {} } } }),
  tokenExchange: policy('HTTPRoute', { backend: { auth: { oauthTokenExchange: exchange } } }),
  privateKey: policy('HTTPRoute', {
    backend: {
      auth: {
        oauthTokenExchange: {
          backendRef: service,
          clientAuth: {
            clientId: 'c',
            method: 'PrivateKeyJwt',
            privateKeyJwt: { signingKeyRef: { name: 'k' }, assertionAudience: 'a' },
          },
        },
      },
    },
  }),
  crossApp: policy('HTTPRoute', {
    backend: {
      auth: { crossAppAccess: { identityProvider: server(), resourceAuthorizationServer: server(), audience: 'a' } },
    },
  }),
  ai: policy('HTTPRoute', { backend: { ai: { modelAliases: {} } } }),
  caching: policy('HTTPRoute', { backend: { ai: { promptCaching: {} } } }),
  guard: policy('HTTPRoute', {
    backend: { ai: { promptGuard: { request: [{ regex: {} }], response: [{ regex: {} }] } } },
  }),
  bedrockGuard: policy('HTTPRoute', {
    backend: {
      ai: {
        promptGuard: { request: [{ bedrockGuardrails: { identifier: 'i', version: 'v', region: 'r' } }] },
      },
    },
  }),
  armorGuard: policy('HTTPRoute', {
    backend: { ai: { promptGuard: { request: [{ googleModelArmor: { templateId: 't', projectId: 'p' } }] } } },
  }),
  mcpAuthentication: policy('HTTPRoute', {
    backend: { mcp: { authentication: { jwks: { backendRef: service, jwksPath: '/keys' } } } },
  }),
  mcpGuard: policy('HTTPRoute', {
    backend: {
      mcp: { guardrails: { processors: [{ remote: { backendRef: service }, methods: { '*': 'Full' } }] } },
    },
  }),
} satisfies Record<string, object>
export type Base = keyof typeof BASES

/** `spec.a[0].b` → its steps. */
function steps(path: string): (string | number)[] {
  return path.split(/\.|(?=\[)/).map(step => (/^\[\d+\]$/.test(step) ? Number(step.slice(1, -1)) : step))
}

/** A copy of a base with a value at `path`; `undefined` takes the field away. Lists on the way are made as needed. */
export function withValue(base: object, path: string, value: unknown): object {
  const copy = structuredClone(base)
  const way = steps(path)
  let at = copy as Record<string | number, unknown>
  for (const [index, step] of way.slice(0, -1).entries()) {
    at[step] ??= typeof way[index + 1] === 'number' ? [] : {}
    at = at[step] as Record<string | number, unknown>
  }
  const last = way.at(-1)!
  if (value === undefined) delete at[last]
  else at[last] = value
  return copy
}

export function valueAt(value: unknown, path: string): unknown {
  return steps(path).reduce((at: unknown, step) => (at as Record<string | number, unknown> | undefined)?.[step], value)
}

type Fields = Readonly<Record<string, unknown>>

/** Identifies a file of another tool, so that users see why it was skipped. Undefined if unknown. */
export function foreignKind(fields: Fields): string | undefined {
  return KINDS.find(([, tells]) => tells(fields))?.[0]
}

/** What to do with a file of another tool that was named as a configuration. */
export function hintFor(kind = ''): string {
  return WAYS[kind] ?? 'name the file of the gateway, or its directory: files of other tools are left out there'
}

const RENDERED = 'check what it renders: `helm template . | gwctl validate -`'
const WRITTEN_ANEW =
  'ports are `gateways` here, and what they serve are `routes` with `matches`, `policies` and `backends`'
const WAYS: Readonly<Record<string, string>> = {
  'a Helm chart': RENDERED,
  'values of a Helm chart': RENDERED,
  'a kustomization': 'check what it builds: `kustomize build . | gwctl validate -`',
  'a LiteLLM configuration': 'its models are entries of `llm.models` here, each with `name`, `provider` and `params`',
  'an MCP client configuration':
    'its servers are entries of `mcp.targets` here, each with `name` and `stdio: {cmd, args, env}`',
  'an OpenAPI document': 'an MCP target serves it: `openapi: {schema: {file: PATH}, host: HOST:PORT}`',
  'an Envoy configuration': WRITTEN_ANEW,
  'a Traefik configuration': WRITTEN_ANEW,
  'a Kong configuration': WRITTEN_ANEW,
  'an APISIX configuration': WRITTEN_ANEW,
  'a KrakenD configuration': WRITTEN_ANEW,
  'a Caddy configuration': WRITTEN_ANEW,
}

const KINDS: readonly (readonly [name: string, tells: (fields: Fields) => boolean])[] = [
  ['a Helm chart', f => has(f, 'apiVersion', 'name', 'version') && !has(f, 'kind')],
  ['a Compose file', f => isMap(f.services) && some(f.services, 'image', 'build', 'command', 'depends_on', 'ports')],
  ['a GitHub workflow', f => isMap(f.jobs) && (has(f, 'on') || has(f, 'true') || some(f.jobs, 'runs-on', 'uses'))],
  ['a GitHub action', f => has(f, 'runs', 'name')],
  ['a CircleCI configuration', f => isMap(f.jobs) && has(f, 'version')],
  ['a GitLab pipeline', f => has(f, 'stages') || has(f, 'before_script') || some(f, 'script')],
  ['a Dependabot configuration', f => has(f, 'version', 'updates')],
  ['a pre-commit configuration', f => Array.isArray(f.repos)],
  ['an OpenAPI document', f => has(f, 'openapi') || has(f, 'swagger')],
  ['an AsyncAPI document', f => has(f, 'asyncapi')],
  ['an Envoy configuration', f => has(f, 'static_resources') || has(f, 'dynamic_resources')],
  ['a Traefik configuration', f => has(f, 'entryPoints') || some({ f: f.http }, 'routers', 'middlewares')],
  ['a Kong configuration', f => has(f, '_format_version')],
  ['an APISIX configuration', f => has(f, 'apisix') || (has(f, 'routes', 'upstreams') && !has(f, 'binds'))],
  ['a KrakenD configuration', f => Array.isArray(f.endpoints)],
  ['a LiteLLM configuration', f => has(f, 'model_list')],
  ['a Prometheus configuration', f => has(f, 'scrape_configs')],
  ['Prometheus rules', f => Array.isArray(f.groups)],
  ['an Alertmanager configuration', f => has(f, 'receivers', 'route')],
  ['an OpenTelemetry Collector configuration', f => has(f, 'receivers', 'service') || has(f, 'exporters')],
  ['a Loki configuration', f => has(f, 'schema_config') || has(f, 'ingester')],
  ['a Grafana provisioning file', f => has(f, 'datasources') || has(f, 'providers', 'apiVersion')],
  ['a MkDocs configuration', f => has(f, 'site_name')],
  ['a Caddy configuration', f => isMap(f.apps) && has(f.apps, 'http')],
  ['a Serverless service', f => has(f, 'functions', 'provider')],
  ['an MCP client configuration', f => has(f, 'mcpServers')],
  ['a JSON Schema', f => has(f, '$schema') && (has(f, 'properties') || has(f, '$defs'))],
  [
    'a Node.js package',
    f => has(f, 'name') && (has(f, 'dependencies') || has(f, 'devDependencies') || has(f, 'scripts')),
  ],
  ['a TypeScript configuration', f => has(f, 'compilerOptions')],
  [
    'a kustomization',
    f => ['resources', 'patches', 'bases', 'configMapGenerator', 'components'].some(k => Array.isArray(f[k])),
  ],
  ['values of a Helm chart', f => has(f, 'image') || has(f, 'replicaCount') || has(f, 'nameOverride')],
]

function has(fields: Fields, ...keys: readonly string[]): boolean {
  return keys.every(key => Object.hasOwn(fields, key))
}

/** Whether some value of the map has one of these keys. */
function some(map: unknown, ...keys: readonly string[]): boolean {
  return isMap(map) && Object.values(map).some(value => isMap(value) && keys.some(key => Object.hasOwn(value, key)))
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

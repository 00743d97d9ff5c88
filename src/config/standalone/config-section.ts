import { parseListenAddress } from '../../http/listen-address.ts'
import { catalogSchema } from '../../llm/cost/catalog-schema.ts'
import { deprecatedTracing } from '../../policies/frontend/deprecated-tracing.ts'
import { changeFields } from '../../policies/frontend/telemetry.ts'
import { LOG_FILTER_PATTERN, logFilterProblem } from '../../runtime/log-filter.ts'
import { MAX_WORKERS, parseWorkers } from '../../runtime/workers.ts'
import {
  boolean,
  cel,
  def,
  type Infer,
  integer,
  json,
  list,
  map,
  object,
  oneOf,
  opt,
  type Problem,
  parsed,
  req,
  type Schema,
  secret,
  shapes,
  string,
} from '../../schema/builder.ts'
import { keepalives } from '../../schema/keepalives.ts'
import { duration, fileOrInline } from '../../schema/scalars.ts'

/** As written; parsed by `parseListenAddress`. */
const listenAddress: Schema<string> = parsed(
  string({ min: 1 }),
  '`ip:port`, `localhost:port`, `unix:/path` or `off`',
  value =>
    parseListenAddress(value)
      ? { value }
      : {
          problem: {
            message: `\`${value}\` is not an address to listen on`,
            help: 'write `127.0.0.1:15000`, `[::]:15020`, `unix:/run/gw.sock` or `off`',
          },
        },
  'off',
  {
    type: 'string',
    pattern: '^(off|unix:/.*|(\\[[0-9a-fA-F:.]+\\]|\\d+\\.\\d+\\.\\d+\\.\\d+|localhost):\\d{1,5})$',
  },
)

export const LOOKUP_FAMILIES = ['All', 'Auto', 'V4Preferred', 'V4Only', 'V6Only'] as const
export type LookupFamily = (typeof LOOKUP_FAMILIES)[number]

const logFilter: Schema<string> = parsed(
  string({ min: 1 }),
  'a level, or `module=level`, separated by commas',
  value => {
    const message = logFilterProblem(value)
    return message === undefined ? { value } : { problem: { message } }
  },
  'info',
  { type: 'string', minLength: 1, pattern: LOG_FILTER_PATTERN },
)
const logLevel = shapes({ string: logFilter, list: list(logFilter) })

/** As written; parsed by `parseWorkers`. */
const workers: Schema<string> = parsed(
  string({ min: 1 }),
  'a number of workers, or a share of the processors such as `50%`',
  value =>
    parseWorkers(value)
      ? { value }
      : { problem: { message: `\`${value}\` is neither a number of workers nor a share` } },
  '1',
  { type: 'string', pattern: '^([0-9]{1,4}|[0-9]{1,3}(\\.[0-9]+)?%)$' },
)

/** The built-in labels of the request metrics, and the one that Prometheus adds to buckets. */
const OWN_LABELS: ReadonlySet<string> = new Set(
  'backend protocol method status reason bind gateway listener route route_rule le'.split(' '),
)

function labelProblem(name: string): Problem | undefined {
  if (!/^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/.test(name)) {
    return { message: `\`${name}\` is not a label name: letters, digits and \`_\`, and no digit first` }
  }
  return OWN_LABELS.has(name) ? { message: `the metrics of requests have a label \`${name}\` already` } : undefined
}

const CONTROL_PLANE = {
  unserved: 'There is no control plane: the configuration comes from files, or from a cluster with `--kube`.',
}
/** What a replica says of itself to a control plane. */
const IDENTITY = { inert: 'Only a control plane reads it, and without one it changes nothing.' }

const requestDatabase = object('request database', {
  url: opt(fileOrInline({ secret: 'inUrl' }), 'URL of a SQLite file: `sqlite://./requests.db`.'),
  maxConnections: opt(integer(1), 'Pool size.', { inert: 'Each worker has one connection.' }),
})

export const configSection = object('config', {
  adminAddr: def(listenAddress, '127.0.0.1:15000', 'Address of the admin server.', { spec: 'Admin server' }),
  statsAddr: def(listenAddress, '[::]:15020', 'Address of `/metrics`.'),
  readinessAddr: def(listenAddress, '[::]:15021', 'Address of `/healthz/ready`.'),
  enableIpv6: opt(boolean, 'Also listen on IPv6; on when the machine supports it.'),
  workerThreads: opt(
    shapes({ number: integer(1, MAX_WORKERS), string: workers }),
    'Workers that share the ports: a number or a share of the cores (`50%`); `WORKER_THREADS` takes precedence.',
  ),
  logging: opt(
    object('logging', {
      level: opt(logLevel, 'Filter in RUST_LOG syntax: `info`, `info,http=debug`.'),
      format: def(oneOf(['text', 'json']), 'text', 'One line per event, as text or JSON.'),
      filter: opt(cel('log', 'bool'), 'Which requests the access log records.', {
        deprecated: 'Use frontendPolicies.accessLog.filter.',
      }),
      fields: opt(object('log fields', changeFields), 'Changes to the fields of the access log.', {
        deprecated: 'Use frontendPolicies.accessLog.',
      }),
      database: opt(requestDatabase, 'Older location of `config.database`.', { deprecated: 'Use config.database.' }),
    }),
    'Process logs.',
  ),
  tracing: opt(deprecatedTracing, 'Deprecated form of frontendPolicies.tracing.', {
    deprecated: 'Use frontendPolicies.tracing.',
  }),
  metrics: opt(
    object('metrics', {
      remove: opt(
        list(string({ min: 1 })),
        'Metrics to omit, with or without `agentgateway_`, unit and `_total`: `response_bytes`.',
      ),
      fields: opt(
        object('metric labels', {
          add: opt(
            map(cel('log', 'any'), { max: 16, keys: labelProblem }),
            'Label name to expression; a failing one gives `unknown`.',
          ),
        }),
        'Extra labels of the metrics of requests.',
        { spec: 'Metric labels' },
      ),
    }),
    'Prometheus metrics.',
  ),
  histograms: opt(oneOf(['classic', 'native', 'both']), 'Kind of histogram in `/metrics`.'),
  dns: opt(
    object('DNS settings', {
      lookupFamily: opt(oneOf(LOOKUP_FAMILIES), 'Address families to look up; `DNS_LOOKUP_FAMILY` takes precedence.'),
      edns0: opt(boolean, 'Use EDNS0.', { inert: 'The system resolver decides this.' }),
    }),
    'Name resolution.',
  ),
  session: opt(
    object('session settings', {
      key: req(secret({ pattern: /^[0-9a-fA-F]{64}$/, form: '64 hexadecimal digits' }), 'AES-256 key of session ids.'),
    }),
    'MCP session ids.',
  ),
  mcp: opt(
    object('MCP settings', { sessionTtl: def(duration, '30m', 'Idle time after which a session ends.') }),
    'MCP defaults.',
  ),
  connectionTerminationDeadline: opt(
    duration,
    'Longest time that a graceful stop waits for requests in flight; `TERMINATION_GRACE_PERIOD_SECONDS` less 5 s, or 5 s.',
  ),
  connectionMinTerminationDeadline: opt(
    duration,
    'Shortest time that a graceful stop keeps accepting; `CONNECTION_MIN_TERMINATION_DEADLINE`, or 0 s.',
  ),
  backend: opt(
    object('backend defaults', {
      connectTimeout: def(duration, '10s', 'Time to connect.'),
      poolIdleTimeout: def(duration, '1m30s', 'Idle connections are closed after this.'),
      poolMaxSize: opt(integer(1), 'Connections kept per target.'),
      keepalives: def(keepalives, {}, 'TCP keepalives.'),
    }),
    'Defaults for upstream connections.',
  ),
  sensitiveHeaders: opt(list(string({ min: 1 })), 'Header names whose values are never shown, besides credentials.'),
  customFunctions: opt(
    string(),
    'Functions for expressions, written in CEL: `name(a, b) { expression }`, or `this.name(a, rest...) { expression }` for a method.',
  ),
  modelCatalog: opt(
    list(
      shapes({
        object: object(
          'catalog source',
          {
            file: opt(string({ min: 1 }), 'Path.'),
            inline: opt(shapes({ string: string(), object: catalogSchema }), 'The catalog itself, or its JSON.'),
          },
          { exactlyOneOf: [['file', 'inline']] },
        ),
      }),
    ),
    'Prices of models; later sources take precedence.',
  ),
  standardAttributes: opt(
    object('standard attributes', {
      user: opt(cel('log', 'any'), 'User that the request belongs to.'),
      group: opt(cel('log', 'any'), 'Their group.'),
    }),
    'Attributes of every request in the database.',
  ),
  database: opt(requestDatabase, 'Stores LLM requests for `gwctl usage`.'),
  storage: opt(
    object('storage', {
      mode: opt(oneOf(['file', 'readOnly', 'hybrid']), 'Where changes to the configuration are kept.'),
    }),
    'Configuration store; the file in any case, which nothing here changes.',
  ),
  hbone: opt(json, 'Mesh tunnel settings.', { unserved: 'Mesh tunnels are not terminated.' }),
  spiffe: opt(json, 'SPIFFE workload API.', { unserved: 'Certificates of a SPIFFE workload API are not used yet.' }),
  xdsAddress: opt(string(), 'Address of a control plane.', CONTROL_PLANE),
  localXdsPath: opt(string(), 'Path of the dynamic part of the file.', CONTROL_PLANE),
  caAddress: opt(string(), 'Address of a certificate authority.', {
    unserved: 'Certificates of a mesh are not requested yet.',
  }),
  namespace: opt(string(), 'Namespace of the replica.', IDENTITY),
  gateway: opt(string(), 'Gateway of the replica.', IDENTITY),
  serviceAccount: opt(string(), 'Service account of the replica.', IDENTITY),
  trustDomain: opt(string(), 'Trust domain of the mesh.', IDENTITY),
  additionalTrustDomains: opt(list(string()), 'Further trust domains of the mesh.', IDENTITY),
  skipValidateTrustDomain: opt(boolean, 'Accept any trust domain.', IDENTITY),
  clusterId: opt(string(), 'Cluster of the replica.', IDENTITY),
  network: opt(string(), 'Network of the replica.', IDENTITY),
  authToken: opt(string(), 'Path of the token for the control plane.', IDENTITY),
  xdsAuthToken: opt(string(), 'Path of the token for the control plane.', IDENTITY),
  caAuthToken: opt(string(), 'Path of the token for the certificate authority.', IDENTITY),
  numWorkerThreads: opt(integer(1, MAX_WORKERS), 'Older name of workerThreads.', { deprecated: 'Use workerThreads.' }),
})
export type ConfigSection = Infer<typeof configSection>

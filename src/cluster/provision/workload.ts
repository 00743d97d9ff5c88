import type { Fields } from '../../schema/untyped.ts'
import { specOf } from '../translate/cluster-view.ts'
import { type CatalogSource, catalogsOf } from './configuration.ts'
import { sha256 } from './names.ts'
import type { Parameters } from './parameters.ts'
import { type KubeObject, meshOf, namespaced, type Replica } from './replica.ts'

/** The input of a workload besides the parameters. */
export interface Made {
  /** The replica's configuration file. */
  readonly text: string
  readonly sessionKey: string | undefined
  /** The port of the probes. Undefined if there can be none. */
  readonly readinessPort: number | undefined
  readonly statsPort: number | undefined
  readonly version: string
}

/** The public system's name, so that overlays for it apply. */
const CONTAINER = 'agentgateway'
/** Numeric, so that it works with every image. */
const USER = 10101
const SPIFFE_MOUNT = '/spiffe-workload-api'

export function sessionSecretName({ name }: Replica): string {
  return `${name}-session-key`
}

/** The Deployment or DaemonSet that runs the replicas of a Gateway. */
export function workload(replica: Replica, made: Made): KubeObject {
  const { selector, parameters } = replica
  return namespaced(replica, 'apps/v1', parameters.spec.workload?.kind ?? 'Deployment', {
    spec: {
      selector: { matchLabels: selector },
      template: { metadata: podMetadata(replica, made), spec: podSpec(replica, made) },
    },
  })
}

/** Hashes of the files that Pods read at start: a change replaces the Pods. */
function podMetadata({ podLabels, annotations }: Replica, made: Made): Fields {
  const scraped = {
    'prometheus.io/path': '/metrics',
    'prometheus.io/port': String(made.statsPort),
    'prometheus.io/scrape': 'true',
  }
  return {
    labels: podLabels,
    annotations: {
      ...(made.statsPort === undefined ? {} : scraped),
      ...annotations,
      'checksum/config': sha256(made.text),
      ...(made.sessionKey === undefined ? {} : { 'checksum/session-key': sha256(made.sessionKey) }),
    },
  }
}

function podSpec(replica: Replica, made: Made): Fields {
  const { parameters, name } = replica
  const volumes = volumesOf(replica)
  return {
    serviceAccountName: name,
    // Overrides the account's setting, which keeps it from other Pods.
    automountServiceAccountToken: true,
    terminationGracePeriodSeconds: parameters.spec.shutdown?.max ?? 60,
    securityContext: { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }] },
    containers: [
      {
        name: CONTAINER,
        image: imageOf(parameters, made.version),
        ...(parameters.spec.image?.pullPolicy === undefined
          ? {}
          : { imagePullPolicy: parameters.spec.image.pullPolicy }),
        args: argumentsOf(replica),
        env: environment(replica),
        resources: resourcesOf(parameters),
        securityContext: {
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
          readOnlyRootFilesystem: true,
          runAsNonRoot: true,
          runAsUser: USER,
        },
        ...(made.statsPort === undefined
          ? {}
          : { ports: [{ name: 'metrics', containerPort: made.statsPort, protocol: 'TCP' }] }),
        ...probes(made.readinessPort),
        volumeMounts: volumes.map(({ mount }) => mount),
      },
    ],
    volumes: volumes.map(({ volume }) => volume),
  }
}

/** Serves only this Gateway, with the file of its ConfigMap. */
function argumentsOf({ gateway, namespace }: Replica): string[] {
  const className = String(specOf(gateway).gatewayClassName)
  const only = `${namespace}/${gateway.name}`
  return ['run', '--kube', '--gateway-class', className, '--gateway', only, '--settings', '/config/config.yaml']
}

/** Each part can be set separately. */
function imageOf({ spec }: Parameters, version: string): string {
  const { registry = '', repository = 'gwctl', tag, digest } = spec.image ?? {}
  const path = registry === '' ? repository : `${registry}/${repository}`
  const named = tag ?? (digest === undefined ? version : '')
  return `${path}${named === '' ? '' : `:${named}`}${digest === undefined || digest === '' ? '' : `@${digest}`}`
}

function resourcesOf({ spec }: Parameters): Fields {
  const { limits, requests, claims } = spec.resources ?? {}
  const cleared = requests !== undefined && Object.keys(requests).length === 0
  return {
    requests: cleared ? {} : { cpu: '100m', memory: '128Mi', ...requests },
    ...(limits === undefined ? {} : { limits }),
    ...(claims === undefined ? {} : { claims }),
  }
}

function probes(port: number | undefined): Fields {
  if (port === undefined) return {}
  const httpGet = { path: '/healthz/ready', port }
  return {
    readinessProbe: { httpGet, periodSeconds: 10 },
    startupProbe: { httpGet, periodSeconds: 1, timeoutSeconds: 2, successThreshold: 1, failureThreshold: 60 },
  }
}

/** Variables in the parameters' `env` override the defaults by name. */
function environment(replica: Replica): Fields[] {
  const { gateway, namespace, parameters } = replica
  const { shutdown, logging, env = [] } = parameters.spec
  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } })
  const standard: Fields[] = [
    { name: 'TERMINATION_GRACE_PERIOD_SECONDS', value: String(shutdown?.max ?? 60) },
    { name: 'CONNECTION_MIN_TERMINATION_DEADLINE', value: `${shutdown?.min ?? 10}s` },
    field('NODE_NAME', 'spec.nodeName'),
    field('POD_NAMESPACE', 'metadata.namespace'),
    field('POD_NAME', 'metadata.name'),
    field('INSTANCE_IP', 'status.podIP'),
    field('SERVICE_ACCOUNT', 'spec.serviceAccountName'),
    { name: 'CPU_LIMIT', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
    { name: 'NAMESPACE', value: namespace },
    { name: 'GATEWAY', value: gateway.name },
    { name: 'RUST_LOG', value: logging?.level ?? 'info' },
    {
      name: 'SESSION_KEY',
      valueFrom: { secretKeyRef: { name: sessionSecretName(replica), key: 'key', optional: true } },
    },
    ...meshEnvironment(parameters),
  ]
  const own = new Set(env.map(({ name }) => name))
  return [...standard.filter(({ name }) => !own.has(String(name))), ...(env as readonly Fields[])]
}

function meshEnvironment(parameters: Parameters): Fields[] {
  const mesh = meshOf(parameters)
  if (!mesh) return []
  const variables = {
    CA_ADDRESS: mesh.caAddress ?? 'https://istiod.istio-system.svc:15012',
    TRUST_DOMAIN: mesh.trustDomain ?? 'cluster.local',
    ADDITIONAL_TRUST_DOMAINS: mesh.additionalTrustDomains?.join(','),
    CLUSTER_ID: mesh.clusterId,
    NETWORK: mesh.network,
  }
  return Object.entries(variables).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]))
}

interface Mounted {
  readonly volume: Fields
  readonly mount: Fields
}

function volumesOf(replica: Replica): Mounted[] {
  const { parameters, name } = replica
  const seen = new Set<string>()
  return [
    mounted('config-volume', { configMap: { name } }, '/config', true),
    mounted('tmp', { emptyDir: {} }, '/tmp', false),
    ...catalogsOf(parameters).flatMap(source => {
      if (seen.has(source.configMap)) return []
      seen.add(source.configMap)
      return [catalog(source)]
    }),
    ...meshVolumes(parameters),
    ...identityVolumes(parameters),
  ]
}

function mounted(name: string, source: Fields, mountPath: string, readOnly: boolean): Mounted {
  return { volume: { name, ...source }, mount: { name, mountPath, ...(readOnly ? { readOnly } : {}) } }
}

function catalog({ configMap, key, file }: CatalogSource): Mounted {
  const items = [{ key, path: file.slice(file.lastIndexOf('/') + 1) }]
  const name = `model-catalog-${sha256(configMap).slice(0, 12)}`
  return mounted(name, { configMap: { name: configMap, items } }, file.slice(0, file.lastIndexOf('/')), true)
}

function meshVolumes(parameters: Parameters): Mounted[] {
  if (!meshOf(parameters)) return []
  const token = { serviceAccountToken: { audience: 'istio-ca', expirationSeconds: 43_200, path: 'istio-token' } }
  return [
    mounted('istiod-ca-cert', { configMap: { name: 'istio-ca-root-cert' } }, '/var/run/secrets/istio', true),
    mounted('istio-token', { projected: { sources: [token] } }, '/var/run/secrets/tokens', true),
  ]
}

function identityVolumes({ spec }: Parameters): Mounted[] {
  if (!spec.spiffe || spec.spiffe.enabled === false) return []
  const { csi, hostPath, mountPath = SPIFFE_MOUNT } = spec.spiffe.source ?? {}
  const source = hostPath
    ? { hostPath: { path: hostPath.path, type: 'Directory' } }
    : { csi: { driver: csi?.driver ?? 'csi.spiffe.io', readOnly: true } }
  return [mounted('spiffe-workload-api', source, mountPath, true)]
}

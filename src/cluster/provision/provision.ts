import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Fields } from '../../schema/untyped.ts'
import { place, type Resource } from '../resources/resource.ts'
import { ClusterView, nameOf } from '../translate/cluster-view.ts'
import { findGateways, type GatewayState } from '../translate/listeners.ts'
import { dataOf } from '../translate/secrets.ts'
import { Work } from '../translate/work.ts'
import { access } from './access.ts'
import { checkObject, checkParameters } from './check-parameters.ts'
import { checkConfiguration, configurationOf, configurationText, portOf } from './configuration.ts'
import { askedFor, overlaid } from './overlays.ts'
import { parametersFor } from './parameters.ts'
import { type KubeObject, namespaced, type Replica, type Report, replicaOf } from './replica.ts'
import { service } from './service.ts'
import { sessionSecretName, workload } from './workload.ts'

export interface ProvisionOptions {
  /** gwctl's version: the image tag, unless the parameters set one. */
  readonly version: string
  /** `namespace/name` of the only Gateway to provision. */
  readonly gateway?: string
  /** The session key of a Gateway whose Secret is not in the input. Undefined for none. */
  newKey(): string | undefined
}

export interface Provisioned {
  readonly gateway: Resource
  readonly objects: readonly KubeObject[]
  /** `namespace/name` of the Secret with the session key. */
  readonly keySecret: string
  /** The Secret is empty: each replica generates its own key. */
  readonly withoutKey: boolean
  /** No parameters set the image's registry and repository. */
  readonly ownImage: boolean
}

/** The replica's own ports, unless its configuration sets others. */
const ADMIN = 15_000
const STATS = 15_020
const READINESS = 15_021

/** The objects that run each of our Gateways, in the order of creation. Deterministic. */
export async function provision(
  resources: readonly Resource[],
  options: ProvisionOptions,
): Promise<{ readonly gateways: readonly Provisioned[]; readonly diagnostics: readonly Diagnostic[] }> {
  const cluster = new ClusterView(resources)
  const only = options.gateway === undefined ? {} : { gateway: options.gateway }
  const plain = { partial: true, withSecrets: true, filePath: undefined, allowUnguarded: false }
  const diagnostics: Diagnostic[] = []
  const report: Report = diagnostic => diagnostics.push(diagnostic)
  const gateways: Provisioned[] = []
  for (const state of findGateways(new Work(cluster, { ...plain, ...only }))) {
    const parameters = parametersFor(state.gateway, cluster, report)
    // The missing reference has been reported.
    if (!parameters) continue
    const replica = replicaOf(state.gateway, parameters, options.version)
    gateways.push(await objectsOf(replica, state, { cluster, options, report }))
  }
  return { gateways, diagnostics }
}

interface Surroundings {
  readonly cluster: ClusterView
  readonly options: ProvisionOptions
  readonly report: Report
}

async function objectsOf(replica: Replica, state: GatewayState, s: Surroundings): Promise<Provisioned> {
  const { parameters, namespace, gateway } = replica
  const configuration = configurationOf(parameters)
  checkParameters(parameters, parameters.spec.workload?.kind ?? 'Deployment')
  const catalog = ({ configMap, key }: { configMap: string; key: string }) => {
    const found = s.cluster.find('ConfigMap', namespace, configMap)
    return found && dataOf(found, key)
  }
  await checkConfiguration(configuration, parameters, catalog, s.report)
  const text = configurationText(configuration)
  const statsPort = portOf(configuration, 'statsAddr', STATS)
  const readinessPort = portOf(configuration, 'readinessAddr', READINESS)
  const reserved = [ADMIN, statsPort, readinessPort].filter(port => port !== undefined)
  const ownKey = parameters.spec.env?.some(({ name }) => name === 'SESSION_KEY') === true
  const sessionKey = ownKey ? undefined : keyOf(replica, s)
  const { version } = s.options
  const runs = workload(replica, { text, sessionKey, statsPort, readinessPort, version })
  const objects = [
    ...access(replica, ownGroups(s.cluster)),
    namespaced(replica, 'v1', 'ConfigMap', { data: { 'config.yaml': text } }),
    ...(ownKey ? [] : [keySecret(replica, sessionKey)]),
    service(replica, state, reserved, s.report),
    runs,
    ...askedFor(replica, runs),
  ].map(object => overlaid(object, replica))
  for (const object of objects) checkObject(object, parameters)
  return {
    gateway,
    objects,
    keySecret: `${namespace}/${sessionSecretName(replica)}`,
    withoutKey: !ownKey && sessionKey === undefined,
    ownImage: parameters.spec.image?.registry === undefined && parameters.spec.image?.repository === undefined,
  }
}

/** The key in use, since a new one would end all sessions. */
function keyOf(replica: Replica, { cluster, options, report }: Surroundings): string | undefined {
  const secret = cluster.find('Secret', replica.namespace, sessionSecretName(replica))
  const key = secret && dataOf(secret, 'key')?.toString('utf8').trim()
  if (!secret || key === undefined || key === '') return options.newKey()
  if (/^[0-9a-f]{64}$/i.test(key)) return key
  report(
    place(secret, {
      code: 'GW106',
      message: `\`key\` of Secret ${nameOf(secret)} is not a session key: write 64 hexadecimal digits`,
      path: [...secret.path, 'data' in secret.raw ? 'data' : 'stringData', 'key'],
      at: 'key',
      help: 'delete the Secret to have a new one made; that ends all sessions',
    }),
  )
  return key
}

/** Without a key the Secret is a placeholder: applying it again preserves a key that others have added. */
function keySecret(replica: Replica, key: string | undefined): KubeObject {
  const data: Fields = key === undefined ? {} : { data: { key: Buffer.from(key).toString('base64') } }
  return namespaced(replica, 'v1', 'Secret', { type: 'Opaque', ...data }, sessionSecretName(replica))
}

/** The API groups in which our kinds occur. */
function ownGroups(cluster: ClusterView): readonly string[] {
  const found = cluster.all.flatMap(({ kind, group }) => (kind.own && group !== '' ? [group] : []))
  return [...new Set(['agentgateway.dev', ...found])].sort()
}

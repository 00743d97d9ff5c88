import {
  boolean,
  def,
  type Infer,
  integer,
  json,
  list,
  map,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  req,
  secret,
  serverRule,
  string,
} from '../../schema/builder.ts'
import { absolutePath, labelKeyProblem, labelValue, quantity } from '../../schema/resource-scalars.ts'
import { problem } from '../../schema/rules.ts'
import { defineKind } from './resource.ts'

const keyOf = (kind: string) =>
  object(`${kind} key`, {
    name: opt(string(), `The ${kind}.`),
    key: req(string({ min: 1 }), 'The data key.'),
    optional: opt(boolean, 'It may be missing.'),
  })
const valueFrom = object(
  'variable source',
  {
    configMapKeyRef: opt(keyOf('ConfigMap'), 'A ConfigMap.'),
    secretKeyRef: opt(keyOf('Secret'), 'A Secret.'),
    fieldRef: opt(
      object('field source', {
        apiVersion: opt(string(), 'The version of the path.'),
        fieldPath: req(string({ min: 1 }), 'The path of a field of the Pod.'),
      }),
      'A field of the Pod.',
    ),
    fileKeyRef: opt(
      object('file source', {
        volumeName: req(string({ min: 1 }), 'The volume.'),
        path: req(string({ min: 1 }), 'The file.'),
        key: req(string({ min: 1 }), 'The key in the file.'),
        optional: opt(boolean, 'It may be missing.'),
      }),
      'A file.',
    ),
    resourceFieldRef: opt(
      object('resource source', {
        containerName: opt(string(), 'The container.'),
        resource: req(string({ min: 1 }), 'The resource.'),
        divisor: opt(quantity, 'The unit.'),
      }),
      'A resource of the container.',
    ),
  },
  { exactlyOneOf: [['configMapKeyRef', 'secretKeyRef', 'fieldRef', 'fileKeyRef', 'resourceFieldRef']] },
)
const variable = object(
  'environment variable',
  {
    name: req(string({ min: 1 }), 'The name.'),
    value: opt(secret({ min: 0 }), 'The value.'),
    valueFrom: opt(valueFrom, 'Where the value comes from.'),
  },
  { atMostOneOf: [['value', 'valueFrom']] },
)
const resources = object('resource requirements', {
  limits: opt(map(quantity), 'Maximum resources of the container.'),
  requests: opt(map(quantity), 'Resources reserved for it.'),
  claims: opt(
    list(
      object('resource claim', {
        name: req(string({ min: 1 }), 'The claim.'),
        request: opt(string(), 'A part of it.'),
      }),
      {
        unique: ['name'],
      },
    ),
    'Claims of the Pod.',
  ),
})

const overlay = object('overlay', {
  metadata: opt(
    object('overlay metadata', {
      labels: opt(map(labelValue, { keys: labelKeyProblem }), 'Labels to add.'),
      annotations: opt(map(string(), { keys: labelKeyProblem }), 'Annotations to add.'),
    }),
    'Changes to the metadata.',
  ),
  spec: opt(map(json), 'Changes to the spec, merged strategically.'),
})

const seconds = integer(0, 31_536_000)
const shutdown = object(
  'shutdown',
  {
    min: req(seconds, 'Minimum time in seconds that connections are kept open.'),
    max: req(seconds, 'Seconds after which the process ends.'),
  },
  {
    check: ({ min, max }) =>
      (min as number) > (max as number) ? [problem(['min'], '`min` is greater than `max`', { at: 'value' })] : [],
    rules: [serverRule('self.min <= self.max', 'min must not be greater than max')],
  },
)
const identitySource = object(
  'SPIFFE source',
  {
    csi: opt(object('CSI source', { driver: opt(string({ min: 1 }), 'The driver.') }), 'A CSI driver.'),
    hostPath: opt(
      object('host path source', { path: req(string({ min: 1 }), 'The directory.') }),
      'A directory of the node.',
    ),
    mountPath: opt(absolutePath, 'Where it is mounted.'),
    socketName: opt(string({ min: 1 }), 'The socket.'),
  },
  { atMostOneOf: [['csi', 'hostPath']] },
)

function overlaysFitWorkload(value: Record<string, unknown>): readonly ObjectProblem[] {
  const kind = (value.workload as { kind?: string } | undefined)?.kind ?? 'Deployment'
  const misfits: Record<string, readonly string[]> = {
    Deployment: ['daemonSet'],
    DaemonSet: ['deployment', 'horizontalPodAutoscaler'],
  }
  return (misfits[kind] ?? [])
    .filter(name => value[name] !== undefined)
    .map(name => problem([name], `\`${name}\` does not fit a workload of kind ${kind}`))
}

export const parametersSpec = object(
  'parameters',
  {
    workload: opt(
      object('workload', { kind: def(oneOf(['Deployment', 'DaemonSet']), 'Deployment', 'What runs the data plane.') }),
      'What runs the data plane.',
    ),
    logging: opt(
      object('logging', {
        level: def(string(), 'info', 'The filter, in RUST_LOG syntax.'),
        format: def(oneOf(['json', 'text']), 'text', 'The format of the lines.'),
      }),
      'The log of the process.',
    ),
    rawConfig: opt(map(json), 'A standalone configuration; the typed fields take precedence over it.'),
    image: opt(
      object('image', {
        registry: opt(string(), 'The registry.'),
        repository: opt(string(), 'The repository.'),
        tag: opt(string(), 'The tag.'),
        digest: opt(string(), 'The digest.'),
        pullPolicy: opt(string(), 'When the image is pulled.'),
      }),
      'The image of the data plane.',
    ),
    env: opt(list(variable, { unique: ['name'] }), 'Environment variables of the container.'),
    resources: opt(resources, 'Compute resources of the container.'),
    shutdown: opt(shutdown, 'How long the shutdown takes.'),
    istio: opt(
      object('mesh integration', {
        enabled: opt(boolean, 'Enables or disables it.'),
        caAddress: opt(string(), 'The certificate authority.'),
        trustDomain: opt(string(), 'The trust domain.'),
        additionalTrustDomains: opt(list(string()), 'Further trust domains.'),
        clusterId: opt(string(), 'The cluster.'),
        network: opt(string(), 'The network.'),
      }),
      'Connects to mesh workloads over mutual TLS.',
    ),
    spiffe: opt(
      object('SPIFFE integration', {
        enabled: opt(boolean, 'Enables or disables it.'),
        source: opt(identitySource, 'Where identities come from.'),
      }),
      'Takes certificates from a SPIFFE agent.',
    ),
    modelCatalog: opt(
      object('model catalog', {
        sources: opt(
          list(
            object('catalog source', {
              configMap: opt(
                object(
                  'catalog ConfigMap',
                  {
                    name: req(string({ min: 1 }), 'The ConfigMap.'),
                    key: def(string({ min: 1 }), 'catalog.json', 'The data key.'),
                  },
                  { refers: { to: 'data', kind: 'ConfigMap', defaultKey: 'catalog.json' } },
                ),
                'A ConfigMap.',
              ),
            }),
          ),
          'Where costs are read from.',
        ),
      }),
      'Costs of models.',
    ),
    deployment: opt(overlay, 'Changes to the Deployment.'),
    daemonSet: opt(overlay, 'Changes to the DaemonSet.'),
    service: opt(overlay, 'Changes to the Service.'),
    serviceAccount: opt(overlay, 'Changes to the ServiceAccount.'),
    podDisruptionBudget: opt(overlay, 'A PodDisruptionBudget; none when unset.'),
    horizontalPodAutoscaler: opt(overlay, 'A HorizontalPodAutoscaler; none when unset.'),
  },
  {
    check: overlaysFitWorkload,
    rules: [
      serverRule(
        "!has(self.daemonSet) || (has(self.workload) && self.workload.kind == 'DaemonSet')",
        'daemonSet needs a workload of kind DaemonSet',
      ),
      serverRule(
        "!has(self.workload) || self.workload.kind != 'DaemonSet' || (!has(self.deployment) && !has(self.horizontalPodAutoscaler))",
        'deployment and horizontalPodAutoscaler need a workload of kind Deployment',
      ),
    ],
  },
)

export type ParametersSpec = Infer<typeof parametersSpec>

export const proxyParameters = defineKind(
  {
    kind: 'ProxyParameters',
    group: 'agentgateway.dev',
    versions: ['v1alpha1'],
    own: {
      alias: 'AgentgatewayParameters',
      aliasGroup: 'agentgateway.dev',
      short: 'pxpar',
      aliasShort: 'agpar',
      columns: [],
      attaches: true,
    },
    namespaced: true,
  },
  {
    spec: req(parametersSpec, 'How the data plane is provisioned.'),
    status: opt(map(json), 'Written by the controller.'),
  },
)

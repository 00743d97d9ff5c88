import { Failure } from '../../diagnostics/failure.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'

/** What selects pods. */
export interface PodOwner {
  readonly kind: string
  /** The API that serves it. */
  readonly api: string
  readonly plural: string
  /** Its name in `kubectl` and Roles. */
  readonly resource: string
  readonly aliases: readonly string[]
}

export interface PodTarget {
  readonly owner: PodOwner
  /** Undefined: the only one. */
  readonly name: string | undefined
  readonly namespace: string
}

export const POD: PodOwner = core('Pod', 'pods', 'pod', 'po')
export const GATEWAY: PodOwner = {
  kind: 'Gateway',
  api: '/apis/gateway.networking.k8s.io/v1',
  plural: 'gateways',
  resource: 'gateways.gateway.networking.k8s.io',
  aliases: ['gateway', 'gtw', 'gw'],
}
const OWNERS: readonly PodOwner[] = [
  POD,
  GATEWAY,
  core('Service', 'services', 'service', 'svc'),
  apps('Deployment', 'deployments', 'deployment', 'deploy'),
  apps('ReplicaSet', 'replicasets', 'replicaset', 'rs'),
  apps('StatefulSet', 'statefulsets', 'statefulset', 'sts'),
  apps('DaemonSet', 'daemonsets', 'daemonset', 'ds'),
]

/**
 * `[TYPE/]NAME[.NS]`. A name may contain dots, so if the namespace is given separately only that is stripped from its
 * end. Throws a Failure `usage`.
 */
export function parseTarget(text: string, namespace: string | undefined, usual: string): PodTarget {
  const slash = text.indexOf('/')
  const owner = slash < 0 ? GATEWAY : ownerOf(text.slice(0, slash))
  const rest = text.slice(slash + 1)
  if (rest === '' && slash < 0) return { owner, name: undefined, namespace: namespace ?? usual }
  const dot = rest.lastIndexOf('.')
  const suffix = dot < 0 ? undefined : rest.slice(dot + 1)
  const whole = suffix === undefined || (namespace !== undefined && namespace !== suffix)
  const name = whole ? rest : rest.slice(0, dot)
  if (!NAME.test(name)) {
    throw new Failure('usage', `--kube ${text} names no resource.`, {
      help: 'Write [TYPE/]NAME[.NAMESPACE], for example deploy/gateway.prod.',
    })
  }
  return { owner, name, namespace: namespace ?? suffix ?? usual }
}

/** A name that is valid in the API (a DNS subdomain); anything else would alter the path. */
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

function ownerOf(type: string): PodOwner {
  const word = type.toLowerCase()
  const found = OWNERS.find(({ aliases, plural }) => aliases.includes(word) || plural === word)
  if (found) return found
  const names = OWNERS.map(({ aliases }) => aliases[0]!)
  const guess = didYouMean(word, names)
  throw new Failure('usage', `pods are not found by ${type}${guess === undefined ? '.' : `: ${guess}`}`, {
    help: `Types: ${names.join(', ')}.`,
  })
}

function core(kind: string, plural: string, ...aliases: string[]): PodOwner {
  return { kind, api: '/api/v1', plural, resource: plural, aliases }
}

function apps(kind: string, plural: string, ...aliases: string[]): PodOwner {
  return { kind, api: '/apis/apps/v1', plural, resource: `${plural}.apps`, aliases }
}

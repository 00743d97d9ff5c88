import { Failure } from '../../diagnostics/failure.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import { asFields, asItems, asList, asText, type Fields, textOf } from '../../schema/untyped.ts'
import type { Waiting } from '../admin/waiting.ts'
import type { ApiClient, Refusal } from './api-client.ts'
import { listAll } from './list-pages.ts'
import { GATEWAY, POD, type PodOwner, type PodTarget } from './pod-target.ts'

export interface Pod {
  readonly namespace: string
  readonly name: string
  readonly ready: boolean
}

export interface FoundPods {
  /** `Gateway shop/edge`. */
  readonly of: string
  /** Running pods, at least one: ready ones first, then by name. */
  readonly pods: readonly Pod[]
}

/** The label of a Gateway's pods (GEP-1762). */
const OF_GATEWAY = 'gateway.networking.k8s.io/gateway-name'

/**
 * The running pods of a target; `waiting` waits for one if there is none. Throws a Failure that names what is missing,
 * and the alternatives.
 */
export async function findPods(client: ApiClient, target: PodTarget, waiting?: Waiting): Promise<FoundPods> {
  const { owner, namespace } = target
  const name = target.name ?? (await onlyGateway(client, namespace))
  const of = `${owner.kind} ${namespace}/${name}`
  for (;;) {
    const all = await podsOf(client, owner, name, namespace)
    const running = all.filter(pod => phaseOf(pod) === 'Running').map(podOf)
    if (running.length > 0) return { of, pods: running.sort(byReadiness) }
    const failure = noneRuns(of, owner, all)
    if (waiting === undefined) throw failure
    await waiting.again(failure)
  }
}

function noneRuns(of: string, owner: PodOwner, pods: readonly Fields[]): Failure {
  if (owner === POD) return new Failure('unreachable', `${of} does not run: it is ${phaseOf(pods[0]!)}.`)
  const states = pods.map(pod => `${textOf(asFields(pod.metadata)?.name)} is ${phaseOf(pod)}`)
  return new Failure(
    'unreachable',
    `${of} has no running pod${states.length === 0 ? '.' : `: ${states.join(', ')}.`}`,
    {
      help:
        states.length === 0 ? 'Is it scaled to nothing, or are its pods found by another resource?' : 'Wait for it.',
    },
  )
}

async function onlyGateway(client: ApiClient, namespace: string): Promise<string> {
  const names = await namesOf(client, GATEWAY, namespace)
  const [first, second] = names
  if (first !== undefined && second === undefined) return first
  if (first === undefined) {
    throw new Failure('unreachable', `namespace ${namespace} has no Gateway.`, {
      help: 'Name another namespace with -n, or what to ask: --kube deploy/NAME, for example.',
    })
  }
  throw new Failure('usage', `namespace ${namespace} has ${names.length} Gateways.`, {
    help: `Name one with --kube NAME: ${names.join(', ')}.`,
  })
}

async function podsOf(client: ApiClient, owner: PodOwner, name: string, namespace: string): Promise<readonly Fields[]> {
  if (owner === POD) return [await read(client, POD, name, namespace)]
  if (owner === GATEWAY) {
    const pods = await list(client, namespace, `${OF_GATEWAY}=${name}`)
    // Only for the message: permission to list pods does not imply permission to read Gateways.
    if (pods.length === 0) await read(client, GATEWAY, name, namespace)
    return pods
  }
  const selector = selectorOf(await read(client, owner, name, namespace), owner)
  if (selector !== '') return list(client, namespace, selector)
  throw new Failure('unreachable', `${owner.kind} ${namespace}/${name} selects no pods.`, {
    help: 'Name the resource that its pods belong to.',
  })
}

async function read(client: ApiClient, owner: PodOwner, name: string, namespace: string): Promise<Fields> {
  const answer = await client.get(`${owner.api}/namespaces/${encodeURIComponent(namespace)}/${owner.plural}/${name}`)
  if ('value' in answer) return answer.value
  if (answer.refusal.status !== 404) throw refused('get', owner, namespace, answer.refusal)
  const names = await namesOf(client, owner, namespace).catch(() => [])
  const guess = didYouMean(name, names)
  const shown = names.slice(0, MAX_NAMES).join(', ')
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ''
  throw new Failure(
    'unreachable',
    `namespace ${namespace} has no ${owner.kind} ${name}${guess === undefined ? '.' : `: ${guess}`}`,
    {
      help: `${names.length === 0 ? 'Name another namespace with -n' : `It has: ${shown}${more}`}${otherKind(owner)}.`,
    },
  )
}

const MAX_NAMES = 10

/** A name without a type means a Gateway, which is easily forgotten. */
function otherKind(owner: PodOwner): string {
  return owner === GATEWAY ? '; for other resources name the type too, as in deploy/NAME' : ''
}

async function namesOf(client: ApiClient, owner: PodOwner, namespace: string): Promise<readonly string[]> {
  const found = await listAll(client, `${owner.api}/namespaces/${encodeURIComponent(namespace)}/${owner.plural}`)
  if ('refusal' in found) throw refused('list', owner, namespace, found.refusal)
  return found.items.map(({ metadata }) => textOf(asFields(metadata)?.name)).sort()
}

async function list(client: ApiClient, namespace: string, selector: string): Promise<readonly Fields[]> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`
  const found = await listAll(client, path, `labelSelector=${encodeURIComponent(selector)}`)
  if ('refusal' in found) throw refused('list', POD, namespace, found.refusal)
  return found.items
}

/** A selector for the API. That of a Service is a map of labels, others have expressions too. */
function selectorOf(resource: Fields, { kind }: PodOwner): string {
  const selector = asFields(asFields(resource.spec)?.selector) ?? {}
  const labels = kind === 'Service' ? selector : (asFields(selector.matchLabels) ?? {})
  const expressions = kind === 'Service' ? [] : asItems(selector.matchExpressions)
  return [
    ...Object.entries(labels).map(([label, value]) => `${label}=${textOf(value)}`),
    ...expressions.map(({ key, operator, values }) => expressionOf(textOf(key), textOf(operator), asList(values))),
  ].join(',')
}

function expressionOf(key: string, operator: string, values: readonly unknown[]): string {
  if (operator === 'Exists') return key
  if (operator === 'DoesNotExist') return `!${key}`
  return `${key} ${operator === 'NotIn' ? 'notin' : 'in'} (${values.map(textOf).join(',')})`
}

function podOf(pod: Fields): Pod {
  const metadata = asFields(pod.metadata) ?? {}
  const conditions = asItems(asFields(pod.status)?.conditions)
  const ready = conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  // A pod that is being deleted still answers for a while.
  const leaving = asText(metadata.deletionTimestamp) !== undefined
  return { namespace: textOf(metadata.namespace), name: textOf(metadata.name), ready: ready && !leaving }
}

function phaseOf(pod: Fields): string {
  return asText(asFields(pod.status)?.phase) ?? 'Unknown'
}

function byReadiness(a: Pod, b: Pod): number {
  if (a.ready !== b.ready) return a.ready ? -1 : 1
  return a.name < b.name ? -1 : 1
}

function refused(verb: string, { resource }: PodOwner, namespace: string, { status, message }: Refusal): Failure {
  if (status === 404) {
    return new Failure('unreachable', `the cluster does not know ${resource}.`, {
      help: 'Name another kind of resource: --kube deploy/NAME, for example.',
    })
  }
  if (status !== 403) {
    return new Failure('unreachable', `the API server does not ${verb} ${resource} (${status}): ${message}.`)
  }
  return new Failure('unreachable', `these credentials may not ${verb} ${resource} in namespace ${namespace}.`, {
    help: `They need the verb ${verb} on ${resource} there; docs/cluster-access.md has a Role.`,
  })
}

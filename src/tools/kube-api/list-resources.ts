import { KINDS } from '../../cluster/kinds/index.ts'
import type { ResourceKind } from '../../cluster/kinds/resource.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { asItems, type Fields, textOf } from '../../schema/untyped.ts'
import type { ApiClient, Refusal } from './api-client.ts'
import { type Listed, listAll } from './list-pages.ts'

export interface ListRequest {
  /** All namespaces when undefined. */
  readonly namespace: string | undefined
  progress(text: string): void
}

export interface ListedResources {
  readonly objects: readonly Fields[]
  /** What could not be read, and why. */
  readonly notes: readonly string[]
}

/** Maximum number of concurrent lists. */
const AT_ONCE = 4
/** Helm releases and service account tokens: many, large and never referenced. */
const SECRETS = encodeURIComponent('type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token')

/** Reads the resources of all translated kinds. Forbidden ones are noted, and the rest is read. */
export async function listResources(client: ApiClient, request: ListRequest): Promise<ListedResources> {
  const { served, absent } = await discover(client)
  const objects: Fields[] = []
  const refused: string[] = []
  const queue = [...served]
  const work = async (): Promise<void> => {
    for (let kind = queue.shift(); kind; kind = queue.shift()) {
      request.progress(`Reading ${kind.plural}: ${objects.length} resources so far`)
      const found = await listKind(kind, client, request)
      if ('refusal' in found) refused.push(noteOf(kind, found.refusal, request.namespace))
      // Items of a list do not name their kind.
      else for (const item of found.items) objects.push({ apiVersion: kind.apiVersion, kind: kind.kind, ...item })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  if (served.length > 0 && refused.length === served.length) {
    throw new Failure('unreachable', 'the cluster lets these credentials read none of the resources.', {
      help: refused.sort()[0]!,
    })
  }
  const lacks = absent.length > 0 ? [`Not installed in this cluster: ${absent.join(', ')}.`] : []
  return { objects, notes: [...lacks, ...refused.sort()] }
}

/** A kind as served by one API server. */
export interface ServedKind {
  readonly kind: string
  readonly apiVersion: string
  readonly plural: string
  readonly namespaced: boolean
}

/**
 * Discovers the kinds of a server: own kinds in any group, others in theirs, in the newest version that both support.
 */
export async function discover(client: ApiClient) {
  const groups = new Map<string, readonly string[]>([['', ['v1']]])
  const all = await client.get('/apis')
  if ('refusal' in all)
    throw new Failure('unreachable', `the API server does not list its groups: ${all.refusal.message}.`)
  for (const group of asItems(all.value.groups)) {
    groups.set(
      textOf(group.name),
      asItems(group.versions).map(({ version }) => textOf(version)),
    )
  }
  const known = new Map<string, readonly Fields[]>()
  const resourcesOf = async (apiVersion: string): Promise<readonly Fields[]> => {
    if (!known.has(apiVersion)) {
      const answer = await client.get(apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`)
      known.set(apiVersion, 'value' in answer ? asItems(answer.value.resources) : [])
    }
    return known.get(apiVersion)!
  }
  const served: ServedKind[] = []
  const absent: string[] = []
  for (const kind of KINDS) {
    const found: ServedKind[] = []
    for (const apiVersion of versionsOf(kind, groups)) {
      const names = kind.own ? [kind.kind, kind.own.alias] : [kind.kind]
      for (const each of await resourcesOf(apiVersion)) {
        if (!names.includes(textOf(each.kind)) || textOf(each.name).includes('/')) continue
        const { kind: name, name: plural } = each
        found.push({ kind: textOf(name), apiVersion, plural: textOf(plural), namespaced: each.namespaced === true })
      }
      // Only own kinds may exist in several groups.
      if (found.length > 0 && !kind.own) break
    }
    if (found.length === 0) absent.push(kind.kind)
    served.push(...found)
  }
  return { served, absent }
}

function versionsOf(kind: ResourceKind, groups: ReadonlyMap<string, readonly string[]>): string[] {
  const candidates = kind.own
    ? [...groups.keys()].filter(group => /\./.test(group) && !/\bk8s\.io$/.test(group))
    : [kind.group]
  return candidates.flatMap(group =>
    kind.versions
      .filter(version => groups.get(group)?.includes(version))
      .map(version => (group === '' ? version : `${group}/${version}`)),
  )
}

function listKind(kind: ServedKind, client: ApiClient, { namespace }: ListRequest): Promise<Listed> {
  return listAll(client, pathOf(kind, namespace), selectionOf(kind))
}

/** The path of all its objects, or those in one namespace. */
export function pathOf({ apiVersion, namespaced, plural }: ServedKind, namespace: string | undefined): string {
  const base = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
  const within = namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return `${base}${within}/${plural}`
}

/** A query that excludes objects that nothing references. */
export function selectionOf({ kind }: ServedKind): string {
  return kind === 'Secret' ? `fieldSelector=${SECRETS}` : ''
}

function noteOf({ plural }: ServedKind, { status, message }: Refusal, namespace: string | undefined): string {
  const where = namespace === undefined ? 'in all namespaces' : `in namespace ${namespace}`
  if (status === 403) return `${plural} are left out: these credentials may not list them ${where}.`
  return `${plural} are left out: the server answers ${status} (${message}).`
}

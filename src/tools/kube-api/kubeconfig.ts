import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { Failure } from '../../diagnostics/failure.ts'
import { parseSource } from '../../diagnostics/source.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import { readIfRegular } from '../../files/read-file.ts'
import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import { type InputPlace, readInput } from '../input/input-files.ts'

/** The cluster selection, from the flags. */
export interface ClusterChoice {
  /** A file, or - for stdin; by default KUBECONFIG or the file in the home directory. */
  readonly kubeconfig?: string
  readonly context?: string
}

export interface ClusterPlace extends InputPlace {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The directory of a pod's service account; overridden in tests only. */
  readonly account?: string
}

/** One context: its server and user as written, each with the base directory of its paths. */
export interface KubeContext {
  readonly name: string
  readonly cluster: Fields
  readonly clusterFolder: string
  readonly user: Fields
  readonly userFolder: string
  readonly namespace: string
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The selected context. Throws a Failure that names what is missing, without quoting credentials. */
export async function findContext(choice: ClusterChoice, place: ClusterPlace): Promise<KubeContext> {
  const files = await readFiles(choice, place)
  const own = files.length === 0 && choice.context === undefined ? inCluster(place) : undefined
  if (own) return own
  if (files.length === 0) {
    throw new Failure('unreachable', 'there is no kubeconfig, and this is no pod of a cluster.', {
      help: 'Name one with --kubeconfig FILE or KUBECONFIG.',
    })
  }
  const merged = merge(files)
  const wanted = choice.context ?? merged.current
  if (wanted === undefined) {
    throw new Failure('usage', 'the kubeconfig has no current context.', {
      help: `Name one with --context: ${[...merged.contexts.keys()].join(', ')}.`,
    })
  }
  return contextNamed(wanted, merged)
}

interface KubeFile {
  readonly folder: string
  readonly value: Fields
}

async function readFiles({ kubeconfig }: ClusterChoice, place: ClusterPlace): Promise<KubeFile[]> {
  if (kubeconfig !== undefined) {
    const { file, text } = await readInput(kubeconfig, place)
    return [{ folder: kubeconfig === '-' ? place.cwd : dirname(resolve(place.cwd, file)), value: parse(file, text) }]
  }
  const listed = (place.env.KUBECONFIG ?? '').split(delimiter).filter(Boolean)
  const paths = listed.length > 0 ? listed : [join(place.env.HOME ?? homedir(), '.kube', 'config')]
  // As in kubectl, missing files of the list are ignored.
  const present = paths.map(path => resolve(place.cwd, path)).filter(path => existsSync(path))
  const files: KubeFile[] = []
  for (const path of present) {
    files.push({ folder: dirname(path), value: parse(path, (await readInput(path, place)).text) })
  }
  return files
}

function parse(file: string, text: string): Fields {
  const { documents, diagnostics } = parseSource(file, text)
  const value = asFields(documents[0]?.value)
  const problem = diagnostics.find(({ severity }) => severity === 'error')
  // Only the position: the text around it may contain a credential.
  if (problem) throw new Failure('input', `${file} cannot be read as YAML: line ${problem.range.start.line}.`)
  if (!value || !('clusters' in value || 'contexts' in value || 'users' in value)) {
    throw new Failure('input', `${file} is not a kubeconfig.`, { help: 'It needs clusters, users and contexts.' })
  }
  return value
}

interface Named {
  readonly value: Fields
  readonly folder: string
}
interface Merged {
  readonly current: string | undefined
  readonly clusters: ReadonlyMap<string, Named>
  readonly users: ReadonlyMap<string, Named>
  readonly contexts: ReadonlyMap<string, Named>
}

/** In several files, the first definition of a name wins. */
function merge(files: readonly KubeFile[]): Merged {
  const named = (list: string, member: string): Map<string, Named> => {
    const found = new Map<string, Named>()
    for (const { folder, value } of files) {
      for (const item of asItems(value[list])) {
        const name = asText(item.name)
        if (name !== undefined && !found.has(name)) found.set(name, { folder, value: asFields(item[member]) ?? {} })
      }
    }
    return found
  }
  return {
    current: files.map(({ value }) => asText(value['current-context'])).find(name => name !== undefined),
    clusters: named('clusters', 'cluster'),
    users: named('users', 'user'),
    contexts: named('contexts', 'context'),
  }
}

function contextNamed(name: string, { contexts, clusters, users }: Merged): KubeContext {
  const { value: context } = entry('context', name, contexts)
  const cluster = entry('cluster', asText(context.cluster) ?? '', clusters)
  const user = asText(context.user)
  const { value, folder } = user === undefined ? { value: {}, folder: cluster.folder } : entry('user', user, users)
  return {
    name,
    cluster: cluster.value,
    clusterFolder: cluster.folder,
    user: value,
    userFolder: folder,
    namespace: asText(context.namespace) ?? 'default',
  }
}

function entry(what: string, name: string, among: ReadonlyMap<string, Named>): Named {
  const found = among.get(name)
  if (found) return found
  const guess = didYouMean(name, [...among.keys()])
  throw new Failure('usage', `the kubeconfig has no ${what} ${name}${guess === undefined ? '.' : `: ${guess}`}`, {
    help: `It has: ${[...among.keys()].join(', ') || 'none'}.`,
  })
}

function inCluster({ env, account: folder = ACCOUNT }: ClusterPlace): KubeContext | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env
  if (host === undefined || !existsSync(join(folder, 'token'))) return undefined
  const namespace = join(folder, 'namespace')
  return {
    name: 'in-cluster',
    cluster: {
      server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      'certificate-authority': join(folder, 'ca.crt'),
    },
    clusterFolder: folder,
    user: { tokenFile: join(folder, 'token') },
    userFolder: folder,
    namespace: readIfRegular(namespace)?.toString().trim() ?? 'default',
  }
}

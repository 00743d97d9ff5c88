import { Failure } from '../../diagnostics/failure.ts'
import { printYaml } from '../../diagnostics/print-yaml.ts'
import { asFields, type Fields, textOf } from '../../schema/untyped.ts'
import type { InputText } from '../input/input-files.ts'
import { ApiClient, type ClientOptions } from './api-client.ts'
import { type ClusterChoice, type ClusterPlace, findContext } from './kubeconfig.ts'
import { listResources } from './list-resources.ts'

export interface ClusterRequest extends ClusterChoice {
  /** The namespace of the context when unset. */
  readonly namespace?: string
  readonly allNamespaces: boolean
}

export interface ClusterTold extends Partial<ClientOptions> {
  note(text: string): void
  progress(text: string): void
}

/** The resources of a cluster, one text each. */
export async function readCluster(
  request: ClusterRequest,
  place: ClusterPlace,
  told: ClusterTold,
): Promise<readonly InputText[]> {
  const texts = (await readLiveCluster(request, place, told)).map(textFor)
  return texts.sort((a, b) => (a.file < b.file ? -1 : 1))
}

/** The same as objects. Throws a Failure if there are none. */
export async function readLiveCluster(
  request: ClusterRequest,
  place: ClusterPlace,
  told: ClusterTold,
): Promise<readonly Fields[]> {
  const context = await findContext(request, place)
  const namespace = request.allNamespaces ? undefined : (request.namespace ?? context.namespace)
  const client = new ApiClient(context, told)
  try {
    const { objects, notes } = await listResources(client, { namespace, progress: text => told.progress(text) })
    for (const text of notes) told.note(text)
    if (objects.length > 0) return objects
    const where = namespace === undefined ? 'the cluster' : `namespace ${namespace}`
    throw new Failure('input', `${where} of context ${context.name} holds no resource to translate.`, {
      help: 'Name another namespace with -n, or all of them with -A.',
    })
  } finally {
    client.close()
  }
}

/** As in `kubectl get -o yaml`, without fields that only the server needs. */
function textFor({ apiVersion, kind, ...rest }: Fields): InputText {
  const { managedFields: _managed, annotations, ...metadata } = asFields(rest.metadata) ?? {}
  // A copy of the whole object, including the values of Secrets.
  const { [LAST_APPLIED]: _applied, ...others } = asFields(annotations) ?? {}
  const kept = Object.keys(others).length > 0 ? { annotations: others } : {}
  const text = printYaml({ apiVersion, kind, ...rest, metadata: { ...metadata, ...kept } })
  const { namespace, name } = metadata
  const place = namespace === undefined ? textOf(name) : `${textOf(namespace)}/${textOf(name)}`
  return { file: `cluster:${textOf(kind)}/${place}`, text }
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

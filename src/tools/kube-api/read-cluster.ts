import { Failure } from '../../diagnostics/failure.ts'
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
  const context = await findContext(request, place)
  const namespace = request.allNamespaces ? undefined : (request.namespace ?? context.namespace)
  const client = new ApiClient(context, told)
  try {
    const { texts, notes } = await listResources(client, { namespace, progress: text => told.progress(text) })
    for (const text of notes) told.note(text)
    if (texts.length > 0) return texts
    const where = namespace === undefined ? 'the cluster' : `namespace ${namespace}`
    throw new Failure('input', `${where} of context ${context.name} holds no resource to translate.`, {
      help: 'Name another namespace with -n, or all of them with -A.',
    })
  } finally {
    client.close()
  }
}

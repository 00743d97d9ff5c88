import { Failure } from '../../diagnostics/failure.ts'
import type { Fields } from '../../schema/untyped.ts'
import { ApiClient } from './api-client.ts'
import { type ClusterChoice, type ClusterPlace, findContext } from './kubeconfig.ts'

export interface ObjectName {
  readonly apiVersion: string
  /** The kind in paths. */
  readonly plural: string
  readonly namespace: string | undefined
  readonly name: string
}

/** Objects of a cluster, in the order of the given names; undefined for missing ones. */
export async function readObjects(
  names: readonly ObjectName[],
  choice: ClusterChoice,
  place: ClusterPlace,
): Promise<readonly (Fields | undefined)[]> {
  const client = new ApiClient(await findContext(choice, place))
  try {
    const found: (Fields | undefined)[] = []
    for (const name of names) {
      const answer = await client.get(pathOf(name))
      if ('value' in answer) found.push(answer.value)
      else if (answer.refusal.status === 404) found.push(undefined)
      else {
        throw new Failure('unreachable', `the cluster does not show ${name.plural}/${name.name}.`, {
          help: answer.refusal.message,
        })
      }
    }
    return found
  } finally {
    client.close()
  }
}

function pathOf({ apiVersion, plural, namespace, name }: ObjectName): string {
  const base = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
  const within = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${base}${within}/${plural}/${encodeURIComponent(name)}`
}

import { asFields, type Fields } from '../../schema/untyped.ts'
import type { Resource } from '../resources/resource.ts'
import { specOf } from '../translate/cluster-view.ts'
import { OVERLAYS } from './parameters.ts'
import { type KubeObject, namespaced, type Replica } from './replica.ts'
import { MERGE_KEYS, type PatchProblem, strategicMerge } from './strategic-merge.ts'

type Overlay = (typeof OVERLAYS)[number]

const KIND_OF: Readonly<Record<Overlay, string>> = {
  deployment: 'Deployment',
  daemonSet: 'DaemonSet',
  service: 'Service',
  serviceAccount: 'ServiceAccount',
  podDisruptionBudget: 'PodDisruptionBudget',
  horizontalPodAutoscaler: 'HorizontalPodAutoscaler',
}

/** Objects created only on request of a level. */
export function askedFor(replica: Replica, workload: KubeObject): KubeObject[] {
  const { parameters, selector } = replica
  const asked = (overlay: Overlay) => parameters.levels.some(level => overlayOf(level, overlay) !== undefined)
  const { apiVersion, kind, metadata } = workload
  const scaleTargetRef = { apiVersion, kind, name: metadata.name }
  return [
    ...(asked('podDisruptionBudget')
      ? [
          namespaced(replica, 'policy/v1', KIND_OF.podDisruptionBudget, {
            spec: { selector: { matchLabels: selector } },
          }),
        ]
      : []),
    ...(asked('horizontalPodAutoscaler') && kind === 'Deployment'
      ? [namespaced(replica, 'autoscaling/v2', KIND_OF.horizontalPodAutoscaler, { spec: { scaleTargetRef } })]
      : []),
  ]
}

function overlayOf(level: Resource, overlay: Overlay): Fields | undefined {
  return asFields(specOf(level)[overlay])
}

/** Applies the overlays of all levels to an object, the class first. */
export function overlaid(object: KubeObject, replica: Replica): KubeObject {
  const overlay = OVERLAYS.find(name => KIND_OF[name] === object.kind)
  if (overlay === undefined) return object
  return replica.parameters.levels.reduce((out, level) => overlayOne(out, overlay, level, replica), object)
}

function overlayOne(object: KubeObject, overlay: Overlay, level: Resource, { parameters }: Replica): KubeObject {
  const patch = overlayOf(level, overlay)
  if (!patch) return object
  const metadata = asFields(patch.metadata)
  const added = (field: string) => {
    const both = { ...asFields(object.metadata[field]), ...withoutNulls(asFields(metadata?.[field])) }
    return Object.keys(both).length === 0 ? {} : { [field]: both }
  }
  const out = { ...object, metadata: { ...object.metadata, ...added('labels'), ...added('annotations') } }
  const spec = asFields(patch.spec)
  if (!spec) return out
  const keys = MERGE_KEYS[object.kind]
  if (!keys) {
    const message = `a ${object.kind} has no \`spec\``
    parameters.report({ code: 'GW102', message, path: [overlay, 'spec'], at: 'key', label: 'not taken' }, level)
    return out
  }
  const problem = ({ path, ...words }: PatchProblem) =>
    parameters.report({ ...words, path: [overlay, 'spec', ...path], at: 'value' }, level)
  return { ...out, spec: strategicMerge(asFields(object.spec) ?? {}, spec, { keys, problem }) }
}

function withoutNulls(fields: Fields | undefined): Fields {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([, value]) => value !== null))
}

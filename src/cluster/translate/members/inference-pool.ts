import type { Policies } from '../../../policies/parts/cluster-form.ts'
import { asFields, asItems, asText } from '../../../schema/untyped.ts'
import type { Resource } from '../../resources/resource.ts'
import { addressesOf, appProtocolOf } from '../backend-refs.ts'
import { specOf } from '../cluster-view.ts'
import type { Entry, Output } from '../output.ts'
import { pickerProblems } from '../status/other-status.ts'
import { at, type Work } from '../work.ts'
import { aimedAt, backendFor, tlsOf } from './called-services.ts'

interface Pool {
  readonly fields: Entry
  readonly policies: Policies
}

/** A pool as a service of the file, whose picker names the endpoint of each request. Undefined after a loss. */
export function inferencePool(pool: Resource, output: Output, work: Work): Pool | undefined {
  const spec = specOf(pool)
  const [problem] = pickerProblems(pool, work)
  if (problem !== undefined) {
    work.lose(at(pool, 'spec', 'endpointPickerRef'), problem)
    return undefined
  }
  const picker = asFields(spec.endpointPickerRef) ?? {}
  const { namespace = '' } = pool
  const name = String(picker.name)
  const number = Number(asFields(picker.port)?.number)
  const to = {
    kind: 'Service',
    service: work.cluster.find('Service', namespace, name),
    namespace,
    name,
    port: number,
  } as const
  if (picker.failureMode === 'FailOpen') {
    const message = '`FailOpen` is not carried over: without its picker, requests to the pool fail'
    work.lose(at(pool, 'spec', 'endpointPickerRef', 'failureMode'), message)
  }
  const port = Number(asItems(spec.targetPorts)[0]?.number)
  const hostname = `${pool.name}.${namespace}.inference.cluster.local`
  if (!output.services.some(each => each.hostname === hostname)) {
    const service = { name: pool.name, namespace, hostname, vips: [], ports: { [port]: port } }
    output.services.push(work.origins.mark<Entry>(service, at(pool, 'spec')))
  }
  // Pickers have a certificate that they have signed themselves, unless their Service says that they speak plain HTTP/2.
  const plain = appProtocolOf(to) === 'kubernetes.io/h2c'
  const { any, problem: mistrust } = aimedAt(to, work)
  if (mistrust !== undefined) {
    work.lose(at(pool, 'spec', 'endpointPickerRef'), mistrust)
    return undefined
  }
  const inferenceRouting = {
    endpointPicker: {
      ...(any ? { backend: backendFor(to, work) } : { host: addressesOf(to, work)[0] }),
      ...(plain || tlsOf(to, work) !== undefined ? {} : { policies: { backendTLS: { insecure: true } } }),
    },
    // The Pods are not followed: the picker knows them.
    destinationMode: 'passthrough',
  }
  return {
    fields: { service: { name: `${namespace}/${hostname}`, port } },
    policies: {
      inferenceRouting,
      ...(asText(spec.appProtocol) === 'kubernetes.io/h2c' ? { http: { version: 'HTTP/2.0' } } : {}),
    },
  }
}

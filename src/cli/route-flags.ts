import * as Flags from '@oclif/core/flags'
import type { InferredFlags } from '@oclif/core/interfaces'
import type { ClusterTold } from '../tools/kube-api/read-cluster.ts'
import { ROUTE_FORMATS } from '../tools/route/render.ts'
import { clusterChoice, clusterFlags } from './cluster-flags.ts'
import { outputFlag } from './flags.ts'
import type { Io } from './io.ts'
import { requestFlags } from './request-flags.ts'

/** All flags of `route`. */
export const routeFlags = {
  file: Flags.string({
    char: 'f',
    helpValue: 'PATH',
    summary: 'The configuration: a file, a directory of resources, or - for stdin.',
  }),
  'from-cluster': Flags.boolean({
    summary: 'Read the resources of a cluster, and treat them as its replicas do.',
    exclusive: ['file'],
  }),
  ...clusterFlags('from-cluster'),
  'all-namespaces': Flags.boolean({
    char: 'A',
    summary: 'Read all namespaces.',
    dependsOn: ['from-cluster'],
    exclusive: ['namespace'],
    helpGroup: 'cluster',
  }),
  'gateway-class': Flags.string({
    helpValue: 'NAME',
    default: 'agentgateway',
    summary: 'The class of the Gateways.',
    helpGroup: 'cluster',
  }),
  gateway: Flags.string({
    helpValue: 'NS/NAME',
    summary: 'Serve this Gateway only.',
    dependsOn: ['from-cluster'],
    helpGroup: 'cluster',
  }),
  ...requestFlags,
  seed: Flags.integer({
    helpValue: 'N',
    default: 1,
    summary: 'Seed of random choices: another one may choose differently.',
  }),
  stub: Flags.string({
    multiple: true,
    multipleNonGreedy: true,
    helpValue: 'BACKEND=STATUS[:FILE]',
    summary: 'Response of a backend, by name or address; BACKEND=down: none. * is every backend. Repeatable.',
  }),
  expect: Flags.integer({
    min: 100,
    max: 599,
    helpValue: 'STATUS',
    summary: 'Exit 0 for this status only, 1 for any other.',
  }),
  'all-routes': Flags.boolean({ summary: 'Show every route that was not chosen, not only the nearest.' }),
  output: outputFlag(ROUTE_FORMATS)({ default: { format: 'text' } }),
}

/** The objects of the cluster that the flags name, and which Gateways are served. */
export async function clusterConfig(flags: InferredFlags<typeof routeFlags>, io: Io, told: ClusterTold) {
  const { readLiveCluster } = await import('../tools/kube-api/read-cluster.ts')
  const { 'gateway-class': className, gateway } = flags
  const objects = await readLiveCluster({ allNamespaces: flags['all-namespaces'], ...clusterChoice(flags) }, io, told)
  return { objects, choice: { className, ...(gateway === undefined ? {} : { gateway }) } }
}

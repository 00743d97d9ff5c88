import * as Flags from '@oclif/core/flags'
import { clusterFlags } from './cluster-flags.ts'

const ofCluster = { dependsOn: ['kube'], helpGroup: 'cluster' }

/** The flags of `gwctl run`. */
export const runFlags = {
  file: Flags.string({
    char: 'f',
    helpValue: 'PATH',
    summary: 'The configuration: a file, a directory of resources, or - for stdin.',
  }),
  watch: Flags.boolean({
    default: true,
    allowNo: true,
    summary: 'Reload when the file changes; an invalid change keeps the old configuration.',
  }),
  workers: Flags.string({
    helpValue: 'N',
    summary: 'Workers that share the ports: a number, or a share of the processors such as 50%.',
  }),
  kube: Flags.boolean({
    exclusive: ['file', 'workers'],
    helpGroup: 'cluster',
    summary: 'Serve the Gateways of a cluster, and follow its changes.',
  }),
  ...clusterFlags('kube'),
  namespace: Flags.string({
    char: 'n',
    helpValue: 'NAME',
    summary: 'The only namespace to watch; all when unset.',
    ...ofCluster,
  }),
  'gateway-class': Flags.string({
    helpValue: 'NAME',
    default: 'agentgateway',
    summary: 'The class whose Gateways are served; created if missing.',
    helpGroup: 'cluster',
  }),
  gateway: Flags.string({
    helpValue: 'NS/NAME',
    summary: 'The only Gateway that is served; all of the class when unset.',
    ...ofCluster,
  }),
  settings: Flags.string({
    helpValue: 'FILE',
    summary: 'A standalone file whose `config` applies to this process.',
    ...ofCluster,
  }),
  'gateway-addresses': Flags.string({
    helpValue: 'POOL',
    summary: 'Addresses of this machine, one for each Gateway: networks, ranges or addresses, separated by commas.',
    ...ofCluster,
  }),
  'published-address': Flags.string({
    helpValue: 'IP',
    summary: 'Address reported for Gateways without their own; that of this machine when unset.',
    ...ofCluster,
  }),
  'lease-namespace': Flags.string({
    helpValue: 'NAME',
    summary: 'Namespace of the Lease that elects the replica to write statuses; that of the context when unset.',
    ...ofCluster,
  }),
}

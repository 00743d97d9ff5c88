import * as Flags from '@oclif/core/flags'
import { clusterFlags } from './cluster-flags.ts'
import { fileFlag, outputFlag } from './flags.ts'

/** All flags of `provision`. */
export const provisionFlags = {
  file: fileFlag,
  output: outputFlag(['yaml', 'json', 'diff'])({ default: { format: 'yaml' } }),
  gateway: Flags.string({ helpValue: 'NS/NAME', summary: 'One Gateway only.' }),
  partial: Flags.boolean({ summary: 'Assume that names missing from the input exist elsewhere.' }),
  'session-key': Flags.string({
    helpValue: 'FILE',
    summary: 'Key for MCP sessions and sign-ins, 64 hexadecimal digits, if no Secret holds one yet.',
  }),
  kube: Flags.string({
    helpValue: '[NS/NAME]',
    summary: 'Read the resources of a cluster instead of files; with a name, only that Gateway.',
    exclusive: ['file', 'gateway'],
    helpGroup: 'cluster',
  }),
  ...clusterFlags('kube'),
  'all-namespaces': Flags.boolean({
    char: 'A',
    summary: 'Read all namespaces.',
    dependsOn: ['kube'],
    exclusive: ['namespace'],
    helpGroup: 'cluster',
  }),
}

import * as Flags from '@oclif/core/flags'
import type { InferredFlags } from '@oclif/core/interfaces'
import { Failure } from '../diagnostics/failure.ts'
import type { ClusterRequest } from '../tools/kube-api/read-cluster.ts'
import { clusterChoice, clusterFlags } from './cluster-flags.ts'
import { fileFlag, outputFlag } from './flags.ts'

/** All flags of `translate`. */
export const translateFlags = {
  file: fileFlag,
  output: outputFlag(['yaml', 'json', 'status', 'status-table', 'report'])({ default: { format: 'yaml' } }),
  annotate: Flags.boolean({ summary: 'Annotate each part with its origin.' }),
  'source-map': Flags.string({ helpValue: 'FILE', summary: 'Write the origin of each part as JSON.' }),
  explain: Flags.string({
    helpValue: 'KIND/NAME',
    summary: 'Show how one resource is translated instead of the file.',
  }),
  gateway: Flags.string({ helpValue: 'NS/NAME', summary: 'Translate one Gateway only.' }),
  strict: Flags.boolean({ summary: 'Treat every loss as an error.' }),
  partial: Flags.boolean({ summary: 'Assume that names missing from the input exist elsewhere.' }),
  'with-secrets': Flags.boolean({ summary: 'Write the values of Secrets instead of placeholders.' }),
  'files-dir': Flags.string({
    helpValue: 'DIR',
    summary: 'Write certificates and CA bundles to this directory and refer to them.',
  }),
  'allow-unguarded': Flags.boolean({
    summary: 'Omit guards that are not served, instead of refusing the requests that they guard.',
  }),
  'from-cluster': Flags.boolean({ summary: 'Read the resources of a cluster instead of files.', exclusive: ['file'] }),
  ...clusterFlags('from-cluster'),
  'all-namespaces': Flags.boolean({
    char: 'A',
    summary: 'Read all namespaces.',
    dependsOn: ['from-cluster'],
    exclusive: ['namespace'],
  }),
}

export type TranslateFlags = InferredFlags<typeof translateFlags>

/** The cluster selection from the flags. Undefined if they name files. */
export function clusterRequest(flags: TranslateFlags, paths: readonly string[]): ClusterRequest | undefined {
  if (!flags['from-cluster']) return undefined
  if (paths.length > 0) throw new Failure('usage', 'Either a cluster or files can be translated, not both.')
  return { allNamespaces: flags['all-namespaces'], ...clusterChoice(flags) }
}

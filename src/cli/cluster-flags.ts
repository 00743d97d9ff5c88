import * as Flags from '@oclif/core/flags'

/** Select a cluster and namespace, for commands that can use one. `on`: the flag that enables it. */
export function clusterFlags(on: 'kube' | 'from-cluster') {
  const common = { dependsOn: [on], helpGroup: 'cluster' }
  return {
    namespace: Flags.string({
      char: 'n',
      helpValue: 'NAME',
      summary: 'The namespace; that of the context when unset.',
      ...common,
    }),
    kubeconfig: Flags.string({
      helpValue: 'FILE',
      summary:
        "Kubeconfig file of the cluster, - for stdin (default: KUBECONFIG, ~/.kube/config, or the pod's account).",
      ...common,
    }),
    context: Flags.string({
      helpValue: 'NAME',
      summary: 'The context of the kubeconfig; its current one when unset.',
      ...common,
    }),
  }
}

/** The flags that are set. */
export function clusterChoice(flags: {
  readonly namespace?: string | undefined
  readonly kubeconfig?: string | undefined
  readonly context?: string | undefined
}): { readonly namespace?: string; readonly kubeconfig?: string; readonly context?: string } {
  const { namespace, kubeconfig, context } = flags
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
  }
}

/** The parser does not support a bare `--kube`, which gets an empty name. */
export function withBareKube(argv: readonly string[]): string[] {
  const end = argv.indexOf('--')
  return argv.map((word, i) => {
    const next = i + 1 === end ? undefined : argv[i + 1]
    const bare = word === '--kube' && (end < 0 || i < end) && (next === undefined || next.startsWith('-'))
    return bare ? '--kube=' : word
  })
}

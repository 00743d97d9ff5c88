import { clusterChoice } from '../src/cli/cluster-flags.ts'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { pathsArg } from '../src/cli/flags.ts'
import { provisionFlags } from '../src/cli/provision-flags.ts'

export default class Provision extends GatewayCommand {
  static override summary = 'Generate the Kubernetes objects that run a Gateway.'
  static override description =
    'A Gateway and its ProxyParameters become a Deployment or DaemonSet, a Service, an account with its permissions, a ' +
    'ConfigMap and a Secret, and on request a PodDisruptionBudget and a HorizontalPodAutoscaler. The same ' +
    'input gives the same bytes. With -o diff, exits 1 when applying them would change something.'
  static override examples = [
    'gwctl provision -f k8s/',
    { description: 'Apply to the cluster:', command: 'gwctl provision --kube -A | kubectl apply --server-side -f -' },
    { description: 'Preview the changes:', command: 'gwctl provision --kube prod/edge -n prod -o diff' },
  ]
  static override args = { paths: pathsArg }
  static override flags = provisionFlags

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Provision)
    this.obey(flags)
    const { kube, gateway, output, partial, 'session-key': sessionKeyFile } = flags
    const { provision } = await import('../src/tools/provision/provision.ts')
    const { buildInfo } = await import('../src/cli/build-info.ts')
    const told = { note: (text: string) => this.note(text), progress: (text: string) => this.progress(text) }
    const { report, text, differs, notes } = await provision(
      {
        paths: [...((args.paths as unknown as string[] | undefined) ?? []), ...(flags.file ?? [])],
        format: output.format,
        partial,
        version: buildInfo().version,
        gateway: gateway ?? (kube === '' ? undefined : kube),
        sessionKeyFile,
        cluster: kube === undefined ? undefined : { allNamespaces: flags['all-namespaces'], ...clusterChoice(flags) },
      },
      this.io,
      told,
    )
    if (report.diagnostics.length > 0) {
      const { renderConcise } = await import('../src/diagnostics/render/concise.ts')
      this.note(renderConcise(report, { paint: await this.paint(this.io.stderr), maxProblems: 50 }).trimEnd())
    }
    if (text === undefined) return 'findings'
    for (const note of notes) this.note(note)
    await this.deliver(text, output)
    return differs ? 'findings' : 'ok'
  }
}

import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { pathsArg } from '../src/cli/flags.ts'
import { clusterRequest, type TranslateFlags, translateFlags } from '../src/cli/translate-flags.ts'
import { Failure } from '../src/diagnostics/failure.ts'
import type { InputText } from '../src/tools/input/input-files.ts'

export default class Translate extends GatewayCommand {
  static override summary = 'Translate Kubernetes resources into one standalone file.'
  static override description =
    'Gateways, routes, policies, backends and models become one file that `gwctl run` serves. What the file cannot ' +
    'express, or the gateway does not serve, is left out and reported; if it was a guard, requests are refused.'
  static override examples = [
    'gwctl translate -f k8s/',
    { description: 'Serve resources on this machine:', command: 'gwctl translate -f k8s/ | gwctl run -f -' },
    { description: 'The status that a controller would write:', command: 'gwctl translate -f k8s/ -o status-table' },
    { description: 'The resources of a cluster:', command: 'gwctl translate --from-cluster -A --annotate' },
    { description: 'How one resource is translated:', command: 'gwctl translate -f k8s/ --explain HTTPRoute/app' },
  ]
  static override args = { paths: pathsArg }
  static override flags = translateFlags

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Translate)
    this.obey(flags)
    const paths = [...((args.paths as unknown as string[] | undefined) ?? []), ...(flags.file ?? [])]
    const tool = await import('../src/tools/input/translate-resources.ts')
    const { cwd } = this.io
    const texts = await this.#texts(flags, paths)
    const made = await tool.translateTexts(texts, cwd, {
      partial: flags.partial,
      withSecrets: flags['with-secrets'],
      allowUnguarded: flags['allow-unguarded'],
      ...(flags.gateway === undefined ? {} : { gateway: flags.gateway }),
      ...(flags['files-dir'] === undefined ? {} : { filesDir: flags['files-dir'] }),
    })
    if (flags['files-dir'] !== undefined)
      this.note(`${tool.writeDataFiles(made, cwd)} files written below ${flags['files-dir']}.`)
    if (flags['source-map'] !== undefined) {
      await this.deliver(tool.renderSourceMap(made), { format: 'json', path: flags['source-map'] })
    }
    const text =
      flags.explain === undefined
        ? tool.renderTranslation(made, flags.output.format, flags.annotate)
        : tool.explainResource(flags.explain, made)
    await this.deliver(text, flags.output)
    if (flags.output.format === 'yaml' || flags.output.format === 'json') await this.#tell(made.report)
    const wrong = made.diagnostics.some(({ severity }) => severity === 'error')
    return wrong || (flags.strict && made.losses.length > 0) ? 'findings' : 'ok'
  }

  async #texts(flags: TranslateFlags, paths: readonly string[]): Promise<readonly InputText[]> {
    const cluster = clusterRequest(flags, paths)
    if (cluster) {
      const { readCluster } = await import('../src/tools/kube-api/read-cluster.ts')
      const told = { note: (text: string) => this.note(text), progress: (text: string) => this.progress(text) }
      return readCluster(cluster, this.io, told)
    }
    if (paths.length === 0) {
      throw new Failure('usage', 'Nothing to translate.', {
        help: 'Name files or directories, for example: gwctl translate -f k8s/, or - for stdin.',
      })
    }
    const { readTexts } = await import('../src/tools/input/translate-resources.ts')
    return readTexts(paths, this.io)
  }

  async #tell(
    report: Parameters<typeof import('../src/diagnostics/render/concise.ts').renderConcise>[0],
  ): Promise<void> {
    if (report.diagnostics.length === 0) return
    const { renderConcise } = await import('../src/diagnostics/render/concise.ts')
    this.note(renderConcise(report, { paint: await this.paint(this.io.stderr), maxProblems: 50 }).trimEnd())
  }
}

import * as Flags from '@oclif/core/flags'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { fileFlag, outputFlag, pathsArg } from '../src/cli/flags.ts'
import { Failure } from '../src/diagnostics/failure.ts'

export default class Translate extends GatewayCommand {
  static override summary =
    'Make one standalone file of Kubernetes resources, and the statuses that a controller would write.'
  static override description =
    'Gateways, routes, policies, backends and models become one file that `gwctl run` serves. What the file cannot ' +
    'say, or the gateway does not serve, is left out and told; where that guarded something, requests are refused.'
  static override examples = [
    'gwctl translate -f k8s/',
    { description: 'Serve resources on this machine:', command: 'gwctl translate -f k8s/ | gwctl run -f -' },
    { description: 'What a controller would say:', command: 'gwctl translate -f k8s/ -o status-table' },
    { description: 'The way of one resource:', command: 'gwctl translate -f k8s/ --explain HTTPRoute/app' },
  ]
  static override args = { paths: pathsArg }
  static override flags = {
    file: fileFlag,
    output: outputFlag(['yaml', 'json', 'status', 'status-table', 'report'])({ default: { format: 'yaml' } }),
    annotate: Flags.boolean({ summary: 'Write where each part comes from beside it.' }),
    'source-map': Flags.string({ helpValue: 'FILE', summary: 'Write the origin of each part as JSON.' }),
    explain: Flags.string({ helpValue: 'KIND/NAME', summary: 'Show the way of one resource instead of the file.' }),
    gateway: Flags.string({ helpValue: 'NS/NAME', summary: 'Translate one Gateway only.' }),
    strict: Flags.boolean({ summary: 'Whatever is lost is an error.' }),
    partial: Flags.boolean({ summary: 'Names that are not in the input are taken to exist elsewhere.' }),
    'with-secrets': Flags.boolean({ summary: 'Write the values of Secrets instead of their places.' }),
    'files-dir': Flags.string({
      helpValue: 'DIR',
      summary: 'Write certificates and CA bundles there and refer to them.',
    }),
    'allow-unguarded': Flags.boolean({
      summary: 'Leave guards out that are not served, instead of refusing the requests they would have judged.',
    }),
  }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Translate)
    this.obey(flags)
    const paths = [...((args.paths as unknown as string[] | undefined) ?? []), ...(flags.file ?? [])]
    if (paths.length === 0) {
      throw new Failure('usage', 'Nothing to translate.', {
        help: 'Name files or directories, for example: gwctl translate -f k8s/, or - for stdin.',
      })
    }
    const tool = await import('../src/tools/translate.ts')
    const { cwd } = this.io
    const texts = await tool.readTexts(paths, { cwd, stdin: this.io.stdin })
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

  async #tell(
    report: Parameters<typeof import('../src/diagnostics/render/concise.ts').renderConcise>[0],
  ): Promise<void> {
    if (report.diagnostics.length === 0) return
    const { renderConcise } = await import('../src/diagnostics/render/concise.ts')
    this.note(renderConcise(report, { paint: await this.paint(this.io.stderr), maxProblems: 50 }).trimEnd())
  }
}

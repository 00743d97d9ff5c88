import { checkFlags, checkRequest, withFlagDefaults } from '../src/cli/check-flags.ts'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { pathsArg } from '../src/cli/flags.ts'
import type { Io } from '../src/cli/io.ts'
import { Failure } from '../src/diagnostics/failure.ts'

export default class Validate extends GatewayCommand {
  static override summary = 'Find every mistake in a configuration before it ships.'
  static override description =
    'Offline: opens no socket, resolves no name, and writes nothing unless asked to (--fix, --write-baseline, -o FORMAT=PATH). ' +
    'Takes files, directories, globs and - for stdin, standalone configurations and Kubernetes resources alike. ' +
    'A comment `# gwctl-ignore CODE: reason` suppresses a finding on its line or the line below.'
  static override examples = [
    'gwctl validate gateway.yaml',
    { description: 'The output of another tool:', command: 'helm template . | gwctl validate -' },
    {
      description: 'With variables and files present, as `gwctl run`:',
      command: 'gwctl validate --tier env gateway.yaml',
    },
    {
      description: 'In CI, with a report to upload:',
      command: 'gwctl validate k8s/ -o sarif=gwctl.sarif --since origin/main',
    },
    { description: 'Apply the safe fixes:', command: 'gwctl validate --fix gateway.yaml' },
  ]
  static override args = { paths: pathsArg }
  static override flags = checkFlags

  constructor(argv: string[], io?: Io) {
    super(withFlagDefaults(argv), io)
  }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Validate)
    this.obey(flags)
    const paths = [...((args.paths as unknown as string[] | undefined) ?? []), ...(flags.file ?? [])]
    if (paths.length === 0 && flags.hook) return 'ok'
    if (paths.length === 0)
      throw new Failure('usage', 'Nothing to check.', {
        help: 'Name a file, for example: gwctl validate gateway.yaml, or - for stdin.',
      })
    const { validate } = await import('../src/tools/validate.ts')
    const { buildInfo } = await import('../src/cli/build-info.ts')
    const request = Object.assign(checkRequest(flags, this.io, flags.verbose), {
      paint: await this.paint(),
      tool: { name: 'gwctl', version: buildInfo().version },
      progress: (text: string) => this.progress(text),
    })
    const printer = {
      deliver: (text: string, target: { path?: string }) => this.deliver(text, { format: '', ...target }),
      note: (text: string) => this.note(text),
    }
    if (flags.watch) return this.#watch(paths, request.outputs, () => validate(paths, request, printer))
    return (await validate(paths, request, printer)) && !flags['exit-zero'] ? 'findings' : 'ok'
  }

  /** Ends on the stop signal. */
  async #watch(
    paths: readonly string[],
    outputs: readonly { readonly path?: string }[],
    once: () => Promise<unknown>,
  ): Promise<never> {
    const { watchInputs } = await import('../src/tools/check/watch.ts')
    const stop = this.io.interruption()
    const written = outputs.map(({ path }) => path)
    await watchInputs(paths, { cwd: this.io.cwd, stop, written }, async () => {
      if (this.io.stdout.isTTY) await this.print('\u001B[2J\u001B[3J\u001B[H')
      await once().catch(error => {
        if (!(error instanceof Failure) || error.kind !== 'input') throw error
        this.note(error.message)
      })
      this.note('Waiting for changes. Ctrl-C stops.')
    })
    throw stop.reason
  }
}

import * as Flags from '@oclif/core/flags'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { fileFlag, jsonFlag, outputFlag, pathsArg } from '../src/cli/flags.ts'
import { Failure } from '../src/diagnostics/failure.ts'

export default class Validate extends GatewayCommand {
  static override summary = 'Find every mistake in a configuration before it ships.'
  static override description = 'Offline and without side effects: opens no socket, writes no file, looks up no name.'
  static override examples = [
    'gwctl validate gateway.yaml',
    { description: 'What another tool has written:', command: 'helm template . | gwctl validate -' },
    {
      description: 'As `gwctl run` does it, with variables and files present:',
      command: 'gwctl validate --tier env gateway.yaml',
    },
  ]
  static override args = { paths: pathsArg }
  static override flags = {
    file: fileFlag,
    output: outputFlag(['text', 'concise', 'json', 'ndjson'])({ default: { format: 'text' } }),
    json: jsonFlag,
    tier: Flags.option({ options: ['offline', 'env'] as const })({
      default: 'offline',
      summary: 'env: variables are set and referenced files exist, as `run` needs.',
    }),
    'stdin-filename': Flags.string({
      helpValue: 'NAME',
      summary: 'The name that findings in stdin are reported under.',
    }),
    'fail-on': Flags.option({ options: ['error', 'warning', 'info', 'never'] as const })({
      default: 'error',
      summary: 'The least severity that makes the exit code 1.',
    }),
    'max-problems': Flags.integer({ min: 1, default: 50, summary: 'How many findings to print; all are counted.' }),
    partial: Flags.boolean({ summary: 'The input is part of a configuration: unresolved names are no errors.' }),
  }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Validate)
    this.obey(flags)
    const paths = [...((args.paths as unknown as string[] | undefined) ?? []), ...(flags.file ?? [])]
    if (paths.length === 0)
      throw new Failure('usage', 'Nothing to check.', {
        help: 'Name a file, for example: gwctl validate gateway.yaml, or - for stdin.',
      })
    const { check } = await import('../src/tools/check.ts')
    const { buildInfo } = await import('../src/cli/build-info.ts')
    const { renderReport, exceeds } = await import('../src/tools/report.ts')
    const report = await check(paths, {
      cwd: this.io.cwd,
      env: this.io.env,
      stdin: this.io.stdin,
      tier: flags.tier,
      ...(flags['stdin-filename'] === undefined ? {} : { stdinName: flags['stdin-filename'] }),
    })
    const format = flags.json ? 'json' : flags.output.format
    await this.deliver(
      renderReport(report, format, {
        paint: await this.paint(this.io.stdout),
        maxProblems: flags['max-problems'],
        tool: { name: 'gwctl', version: buildInfo().version },
      }),
      flags.output,
    )
    return exceeds(report, flags['fail-on']) ? 'findings' : 'ok'
  }
}

import * as Flags from '@oclif/core/flags'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import type { Failure } from '../src/diagnostics/failure.ts'

export default class Run extends GatewayCommand {
  static override summary = 'Serve a configuration, and what it becomes when the file changes.'
  static override description = 'Serves what `gwctl validate` accepts; what it refuses never opens a port.'
  static override examples = [
    'gwctl run -f gateway.yaml',
    { description: 'Without reloading when the file changes:', command: 'gwctl run -f gateway.yaml --no-watch' },
    { description: 'What another tool has written:', command: 'gwctl translate -f k8s/ | gwctl run -f -' },
  ]
  static override flags = {
    file: Flags.string({
      char: 'f',
      required: true,
      helpValue: 'PATH',
      summary: 'The configuration: a file, a directory of resources, or - for stdin.',
    }),
    watch: Flags.boolean({
      default: true,
      allowNo: true,
      summary: 'Reload when the file changes; a bad change keeps the old configuration.',
    }),
    workers: Flags.string({
      helpValue: 'N',
      summary: 'Workers that share the ports: a number, or a share of the processors such as 50%.',
    }),
  }

  async run(): Promise<Outcome> {
    const { flags } = await this.parse(Run)
    this.obey(flags)
    const interrupted = this.io.interruption()
    const { serve } = await import('../src/tools/serve/serve.ts')
    const { renderText } = await import('../src/diagnostics/render/text.ts')
    const { buildInfo } = await import('../src/cli/build-info.ts')
    const { version } = buildInfo()
    const paint = await this.paint(this.io.stderr)
    const serving = await serve({
      file: flags.file,
      cwd: this.io.cwd,
      env: this.io.env,
      stdin: this.io.stdin,
      log: this.io.stderr,
      version,
      watch: flags.watch,
      ...(flags.workers === undefined ? {} : { workers: flags.workers }),
      refused: report => this.io.stderr.write(renderText(report, { paint })),
    })
    if (!serving) return 'findings'
    this.note(
      `Serving ${flags.file} on ${[...serving.ports.values()].map(port => `port ${port}`).join(', ') || 'no port'}; admin server on ${serving.admin}.`,
    )
    const stopped = new Promise<Failure | undefined>(resolve => {
      interrupted.addEventListener('abort', () => resolve(interrupted.reason as Failure), { once: true })
      if (interrupted.aborted) resolve(interrupted.reason as Failure)
      void serving.quit.then(() => resolve(undefined))
    })
    const reason = await stopped
    this.note('Stopping: requests in flight are finished first. A second signal ends them at once.')
    await serving.stop()
    if (reason && reason.kind === 'interrupted') throw reason
    return 'ok'
  }
}

import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { theFile } from '../src/cli/file-words.ts'

export default class Run extends GatewayCommand {
  static override summary = 'Serve a configuration, and what it becomes when the file changes.'
  static override description = 'Serves what `gwctl validate` accepts; what it refuses never opens a port.'
  static override examples = [
    'gwctl run -f gateway.yaml',
    { description: 'Without reloading when the file changes:', command: 'gwctl run -f gateway.yaml --no-watch' },
    { description: 'What another tool has written:', command: 'gwctl translate -f k8s/ | gwctl run -f -' },
  ]
  static override args = { path: Args.string({ ignoreStdin: true, description: 'The same as -f.' }) }
  static override flags = {
    file: Flags.string({
      char: 'f',
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
    const { args, flags } = await this.parse(Run)
    this.obey(flags)
    const file = theFile(flags.file, args.path === undefined ? [] : [args.path], 'gwctl run -f gateway.yaml')
    const interrupted = this.io.interruption()
    const { serve } = await import('../src/tools/serve/serve.ts')
    const { renderText } = await import('../src/diagnostics/render/text.ts')
    const { sizeText } = await import('../src/diagnostics/size-text.ts')
    const { buildInfo } = await import('../src/cli/build-info.ts')
    const { version } = buildInfo()
    const paint = await this.paint(this.io.stderr)
    const serving = await serve({
      file,
      cwd: this.io.cwd,
      env: this.io.env,
      stdin: this.io.stdin,
      log: this.io.stderr,
      version,
      watch: flags.watch,
      ...(flags.workers === undefined ? {} : { workers: flags.workers }),
      refused: report => this.io.stderr.write(renderText(report, { paint, refused: true })),
    })
    if (!serving) {
      this.io.stderr.write(
        `gwctl run: ${file} is not served: what is wrong with it stands above. No port was opened.\n`,
      )
      return 'findings'
    }
    const held = serving.bodies === undefined ? '' : `; bodies in memory: at most ${sizeText(serving.bodies)}`
    this.note(
      `Serving ${file} on ${[...serving.ports.values()].map(port => `port ${port}`).join(', ') || 'no port'}${held}; admin server on ${serving.admin}.`,
    )
    const stopped = new Promise<void>(resolve => {
      interrupted.addEventListener('abort', () => resolve(), { once: true })
      if (interrupted.aborted) resolve()
      void serving.quit.then(resolve)
    })
    await stopped
    this.note('Stopping: requests in flight are finished first. A second signal ends them at once.')
    await serving.stop()
    return 'ok'
  }
}

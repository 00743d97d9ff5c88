import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { Failure } from '../src/diagnostics/failure.ts'
import { ON_CHANGE, type OnChange } from '../src/mcp/tool-lock.ts'

export default class Mcp extends GatewayCommand {
  static override summary = 'Write the tools of MCP targets to a file for review.'
  static override description =
    'lock starts or calls the targets of each MCP backend that names a `toolLock`, and writes descriptions and schemas ' +
    'of their tools to that file. Review it and keep it with the configuration: `gwctl run` then refuses, hides or ' +
    'reports tools that have changed, as `onChange` in the file says. Exits 3 when the configuration cannot be loaded, 4 when a target does not answer; the file is then unchanged.'
  static override examples = [
    { description: 'Lock the tools of all targets:', command: 'gwctl mcp lock -f gateway.yaml' },
    {
      description: 'Hide tools that change:',
      command: 'gwctl mcp lock -f gateway.yaml --on-change hide',
    },
    { description: 'See what has changed since the last commit:', command: 'gwctl diff git:HEAD gateway.yaml' },
  ]
  static override args = {
    action: Args.string({ required: true, ignoreStdin: true, options: ['lock'], description: 'lock.' }),
  }
  static override flags = {
    file: Flags.string({ char: 'f', helpValue: 'FILE', summary: 'The configuration.' }),
    'on-change': Flags.string({
      options: [...ON_CHANGE],
      summary: 'What happens to tools that change; unset: as in the file, refuse in a new one.',
    }),
  }

  async run(): Promise<Outcome> {
    const { flags } = await this.parse(Mcp)
    this.obey(flags)
    if (flags.file === undefined) {
      throw new Failure('usage', 'no file is named.', { help: 'For example: gwctl mcp lock -f gateway.yaml' })
    }
    const { writeToolLocks } = await import('../src/tools/lock-tools.ts')
    const locks = await writeToolLocks(flags.file, {
      cwd: this.io.cwd,
      env: this.io.env,
      stdin: this.io.stdin,
      onChange: flags['on-change'] as OnChange | undefined,
      progress: text => this.progress(text),
    })
    for (const { file, tools, changed } of locks) {
      this.clearProgress()
      await this.print(`${file}: ${tools === 1 ? '1 tool' : `${tools} tools`}, ${changed ? 'written' : 'unchanged'}\n`)
    }
    return 'ok'
  }
}

import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { outputFlag } from '../src/cli/flags.ts'

export default class Version extends GatewayCommand {
  static override summary = 'Print the version, the commit of the build and the Node.js in use.'
  static override examples = [
    'gwctl version',
    { description: 'For a script:', command: 'gwctl version -o json' },
    { description: 'Only the number, without loading anything:', command: 'gwctl --version' },
  ]
  static override flags = {
    output: outputFlag(['text', 'json'])({ default: { format: 'text' } }),
  }

  async run(): Promise<Outcome> {
    const { flags } = await this.parse(Version)
    this.obey(flags)
    const { buildInfo } = await import('../src/cli/build-info.ts')
    const info = buildInfo()
    await this.print(
      flags.output.format === 'json'
        ? `${JSON.stringify(info, null, 2)}\n`
        : `gwctl   ${info.version}\ncommit  ${info.commit}\nnode    ${info.node} (${info.platform})\n`,
    )
    return 'ok'
  }
}

import * as Flags from '@oclif/core/flags'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { adminFlags, adminUrl, outputFlag } from '../src/cli/flags.ts'

export default class Dump extends GatewayCommand {
  static override summary =
    'Print the configuration that a gateway has loaded, from the running process or a saved file.'
  static override description =
    'Asks the admin server for its configuration dump: binds, listeners, routes, policies and backends as they run. ' +
    'Secrets are redacted by the gateway. Exits 4 when no gateway answers, 3 when the file is no dump.'
  static override examples = [
    { description: 'The gateway on this machine:', command: 'gwctl dump' },
    { description: 'Another one, as JSON:', command: 'gwctl dump --admin http://10.0.0.7:15000 -o json' },
    { description: 'A dump that somebody saved:', command: 'gwctl dump --file dump.json --output yaml' },
  ]
  static override flags = {
    file: Flags.string({
      char: 'f',
      helpValue: 'PATH',
      summary: 'A saved dump instead of a running gateway; - for stdin.',
      exclusive: ['admin', 'local'],
    }),
    output: outputFlag(['yaml', 'json'])({ default: { format: 'yaml' } }),
    ...adminFlags,
  }

  async run(): Promise<Outcome> {
    const { flags } = await this.parse(Dump)
    this.obey(flags)
    const { fetchDump, readDump, renderDump } = await import('../src/tools/dump/read.ts')
    const dump =
      flags.file === undefined ? await fetchDump(adminUrl(flags, this.io.env)) : await readDump(flags.file, this.io)
    await this.deliver(renderDump(dump, flags.output.format), flags.output)
    return 'ok'
  }
}

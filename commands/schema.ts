import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'

export default class Schema extends GatewayCommand {
  static override summary = 'Print a JSON Schema, for editors and other tools.'
  static override description =
    'Schemas of the standalone file, of every kind of resource, and of what gwctl itself reads and prints. Without a ' +
    'name, lists them. Put the line that --modeline prints at the top of a file for editors with a YAML language server.'
  static override examples = [
    'gwctl schema',
    { description: 'For an editor:', command: 'gwctl schema standalone > gateway.schema.json' },
    {
      description: 'The comment that associates a file with its schema:',
      command: 'gwctl schema standalone --modeline',
    },
  ]
  static override args = {
    name: Args.string({
      ignoreStdin: true,
      description: 'standalone, a kind such as ProxyPolicy, or another name of the list.',
    }),
  }
  static override flags = {
    modeline: Flags.boolean({ summary: 'Print the comment that names the schema to editors.' }),
  }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Schema)
    this.obey(flags)
    const { findSchema, listSchemas } = await import('../src/tools/schemas.ts')
    if (args.name === undefined) await this.print(listSchemas())
    else {
      const { text, url } = findSchema(args.name)
      await this.print(flags.modeline ? `# yaml-language-server: $schema=${url}\n` : text)
    }
    return 'ok'
  }
}

import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { jsonFlag, outputFlag } from '../src/cli/flags.ts'
import type { Explained } from '../src/tools/explain/explain.ts'

export default class Explain extends GatewayCommand {
  static override summary = 'Explain a field, the code of a finding or a CEL variable.'
  static override examples = [
    { description: 'A field of a standalone file:', command: 'gwctl explain binds.listeners.routes.policies.jwtAuth' },
    { description: 'The same, wherever it occurs:', command: 'gwctl explain jwtAuth' },
    { description: 'A field of a resource:', command: 'gwctl explain ProxyPolicy.spec.traffic' },
    { description: 'Everything below a field:', command: 'gwctl explain llm.models --recursive' },
    { description: 'A finding:', command: 'gwctl explain GW204' },
    { description: 'A variable of CEL expressions:', command: 'gwctl explain cel:request.headers' },
  ]
  static override args = {
    topic: Args.string({ required: true, ignoreStdin: true, description: 'FIELD, CODE or cel:VARIABLE.' }),
  }
  static override flags = {
    recursive: Flags.boolean({ summary: 'Include nested fields at every level.' }),
    output: outputFlag(['text', 'json', 'md'])({ default: { format: 'text' } }),
    json: jsonFlag,
  }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Explain)
    this.obey(flags)
    const { explain } = await import('../src/tools/explain/explain.ts')
    const explained = explain(args.topic, flags.recursive)
    const columns = flags.output.path === undefined ? this.io.stdout.columns : undefined
    await this.deliver(await render(explained, flags.json ? 'json' : flags.output.format, columns), flags.output)
    return 'ok'
  }
}

async function render(explained: Explained, format: 'text' | 'json' | 'md', columns?: number): Promise<string> {
  if (format === 'json') return `${JSON.stringify(explained, null, 2)}\n`
  if (format === 'md') return (await import('../src/tools/explain/markdown.ts')).explainedMarkdown(explained)
  return (await import('../src/tools/explain/text.ts')).explainedText(explained, columns)
}

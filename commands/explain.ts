import * as Args from '@oclif/core/args'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { jsonFlag, outputFlag } from '../src/cli/flags.ts'

export default class Explain extends GatewayCommand {
  static override summary = 'Explain a field of a configuration, a code of a finding or a variable of an expression.'
  static override examples = [
    { description: 'A field of a standalone file:', command: 'gwctl explain binds.listeners.routes.policies.jwtAuth' },
    { description: 'A field of a resource:', command: 'gwctl explain ProxyPolicy.spec.traffic' },
    { description: 'A finding:', command: 'gwctl explain GW204' },
    { description: 'A variable of expressions:', command: 'gwctl explain cel:request.headers' },
  ]
  static override args = {
    topic: Args.string({ required: true, ignoreStdin: true, description: 'FIELD, CODE or cel:VARIABLE.' }),
  }
  static override flags = {
    output: outputFlag(['text', 'json'])({ default: { format: 'text' } }),
    json: jsonFlag,
  }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Explain)
    this.obey(flags)
    const { explain } = await import('../src/tools/explain.ts')
    const explained = explain(args.topic)
    const { explainedText } = await import('../src/tools/explain-text.ts')
    const json = flags.json || flags.output.format === 'json'
    await this.deliver(json ? `${JSON.stringify(explained, null, 2)}\n` : explainedText(explained), flags.output)
    return 'ok'
  }
}

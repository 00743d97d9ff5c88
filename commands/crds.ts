import * as Flags from '@oclif/core/flags'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'

export default class Crds extends GatewayCommand {
  static override summary = 'Print the CustomResourceDefinitions of the four resource kinds.'
  static override description =
    'With them, an API server rejects what `gwctl validate` rejects, as far as possible without looking at other ' +
    'resources, data or expressions. The definitions are too large for the annotation of a plain kubectl apply.'
  static override examples = [
    { description: 'Apply to the cluster:', command: 'gwctl crds | kubectl apply --server-side -f -' },
    { description: 'In an API group of your own:', command: 'gwctl crds --group gateway.example.com' },
    { description: 'With the names of agentgateway:', command: 'gwctl crds --public' },
  ]
  static override flags = {
    group: Flags.string({ helpValue: 'NAME', summary: 'The API group of the kinds.', exclusive: ['public'] }),
    public: Flags.boolean({ summary: 'AgentgatewayBackend, …Model, …Policy and …Parameters of agentgateway.dev.' }),
  }

  async run(): Promise<Outcome> {
    const { flags } = await this.parse(Crds)
    this.obey(flags)
    const { renderCrds } = await import('../src/tools/crds.ts')
    await this.print(renderCrds({ public: flags.public, ...(flags.group === undefined ? {} : { group: flags.group }) }))
    return 'ok'
  }
}

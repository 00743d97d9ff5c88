import * as Args from '@oclif/core/args'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { outputFlag } from '../src/cli/flags.ts'

export default class Completion extends GatewayCommand {
  static override summary = 'Print a script that completes commands and flags in your shell.'
  static override examples = [
    { description: 'bash, in ~/.bashrc:', command: 'source <(gwctl completion bash)' },
    { description: 'zsh, in ~/.zshrc:', command: 'source <(gwctl completion zsh)' },
    { description: 'fish:', command: 'gwctl completion fish > ~/.config/fish/completions/gwctl.fish' },
  ]
  static override args = {
    shell: Args.string({
      required: true,
      ignoreStdin: true,
      options: ['bash', 'zsh', 'fish'],
      description: 'One of bash, zsh, fish.',
    }),
  }

  static override flags = {
    output: outputFlag(['script'])({ default: { format: 'script' } }),
  }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Completion)
    this.obey(flags)
    const { completionScript } = await import('../src/cli/completion.ts')
    await this.deliver(completionScript(args.shell as 'bash' | 'zsh' | 'fish'), flags.output)
    return 'ok'
  }
}

import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { adminFlags, adminUrl, outputFlag } from '../src/cli/flags.ts'

export default class Profile extends GatewayCommand {
  static override summary = 'Record where a running gateway spends processor time or memory, for pprof.'
  static override description =
    'Writes a file that `go tool pprof`, speedscope and others read; of several workers it holds all. Exits 4 when no ' +
    'gateway answers or another profile is being taken.'
  static override examples = [
    'gwctl profile cpu',
    {
      description: 'For a minute, into a file of your choice:',
      command: 'gwctl profile cpu --seconds 60 -o pprof=cpu.pb.gz',
    },
    { description: 'What is allocated and kept:', command: 'gwctl profile heap' },
  ]
  static override args = {
    kind: Args.string({
      required: true,
      ignoreStdin: true,
      options: ['cpu', 'heap'],
      description: 'One of cpu, heap.',
    }),
  }
  static override flags = {
    seconds: Flags.integer({ min: 1, max: 300, default: 10, helpValue: 'N', summary: 'How long to record.' }),
    output: outputFlag(['pprof'])({ default: { format: 'pprof' } }),
    ...adminFlags,
  }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Profile)
    this.obey(flags)
    const { recordProfile } = await import('../src/tools/admin/profile.ts')
    this.progress(`Recording for ${flags.seconds}s…`)
    const kind = args.kind === 'heap' ? 'heap' : 'cpu'
    const path = await recordProfile(
      adminUrl(flags, this.io.env),
      { kind, seconds: flags.seconds, path: flags.output.path },
      this.io.cwd,
    )
    await this.print(`${path}\n`)
    this.note(`Look at it with: go tool pprof -http=: ${path}`)
    return 'ok'
  }
}

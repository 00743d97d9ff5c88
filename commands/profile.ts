import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { adminFlags, adminServer } from '../src/cli/admin-flags.ts'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { outputFlag } from '../src/cli/flags.ts'

export default class Profile extends GatewayCommand {
  static override summary = 'Record where a running gateway spends its time and memory.'
  static override description =
    'cpu and heap write a file that `go tool pprof`, speedscope and others read; of several workers it holds all. trace ' +
    'writes a timeline of the requests that pass meanwhile, for https://ui.perfetto.dev and chrome://tracing. Exits 4 ' +
    'when no gateway answers or another profile is being taken.'
  static override examples = [
    'gwctl profile cpu',
    {
      description: 'For a minute, into a file of your choice:',
      command: 'gwctl profile cpu --seconds 60 -o pprof=cpu.pb.gz',
    },
    { description: 'What is allocated and kept:', command: 'gwctl profile heap' },
    { description: 'What requests wait for, as a picture:', command: 'gwctl profile trace --seconds 5' },
  ]
  static override args = {
    kind: Args.string({
      required: true,
      ignoreStdin: true,
      options: ['cpu', 'heap', 'trace'],
      description: 'One of cpu, heap, trace.',
    }),
  }
  static override flags = {
    seconds: Flags.integer({ min: 1, max: 300, default: 10, helpValue: 'N', summary: 'How long to record.' }),
    output: outputFlag(['pprof', 'timeline'])(),
    ...adminFlags,
  }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Profile)
    this.obey(flags)
    const profile = await import('../src/tools/admin/profile.ts')
    const kind = args.kind as 'cpu' | 'heap' | 'trace'
    const output = profile.outputFor(kind, flags.output)
    this.progress(`Recording for ${flags.seconds}s…`)
    const admin = await adminServer(flags, this.io, this.told())
    const wanted = { seconds: flags.seconds, path: output.path }
    if (kind === 'trace') {
      const { path, requests } = await profile.recordTimeline(admin, wanted, this.io.cwd, text => this.note(text))
      await this.print(`${path}\n`)
      this.note(`${requests} requests. Look at it at https://ui.perfetto.dev, which keeps it in the browser.`)
      return 'ok'
    }
    const path = await profile.recordProfile(admin, { kind, ...wanted }, this.io.cwd)
    await this.print(`${path}\n`)
    this.note(`Look at it with: go tool pprof -http=: ${path}`)
    return 'ok'
  }
}

import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { adminFlags, adminServer } from '../src/cli/admin-flags.ts'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { outputFlag } from '../src/cli/flags.ts'

export default class Profile extends GatewayCommand {
  static override summary = 'Record where a running gateway spends its time and memory.'
  static override description =
    'cpu and heap write a file that `go tool pprof`, speedscope and others read; it covers all workers. trace ' +
    'writes a timeline of the requests in that time, for https://ui.perfetto.dev and chrome://tracing. The ' +
    'file name contains the time unless -o sets it; -o pprof=- or timeline=- writes to stdout. Exits 3 when it ' +
    'cannot be written, 4 when no gateway answers or another profile is being taken.'
  static override examples = [
    'gwctl profile cpu',
    {
      description: 'For a minute, to a given file:',
      command: 'gwctl profile cpu --seconds 60 -o pprof=cpu.pb.gz',
    },
    { description: 'Memory that stays allocated:', command: 'gwctl profile heap' },
    { description: 'A timeline of what requests wait for:', command: 'gwctl profile trace --seconds 5' },
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
    const profile = await import('../src/tools/profile.ts')
    const kind = args.kind as 'cpu' | 'heap' | 'trace'
    const output = await profile.outputFor(kind, flags.output, this.io)
    this.progress(`Recording for ${flags.seconds}s…`)
    const admin = await adminServer(flags, this.io, this.told())
    if (kind === 'trace') {
      const { text, requests, broken } = await profile.recordTimeline(admin, flags.seconds, line => this.note(line))
      if (requests === 0) throw broken ?? profile.nothingIn(flags.seconds, 'no request came')
      await this.deliver(text, output)
      if (broken !== undefined) throw broken
      await this.tell(
        output.path,
        `${requests} requests. Look at it at https://ui.perfetto.dev, which keeps it in the browser.`,
      )
      return 'ok'
    }
    const recorded = await profile.recordProfile(admin, { kind, seconds: flags.seconds })
    await this.deliver(recorded, output)
    if (!profile.hasSamples(recorded))
      this.note(
        `It is empty: in ${flags.seconds}s the gateway ${kind === 'cpu' ? 'did' : 'allocated'} next to nothing.`,
      )
    await this.tell(output.path, `Look at it with: go tool pprof -http=: ${output.path}`)
    return 'ok'
  }

  /** For a file, its name and what to do with it. */
  private async tell(path: string | undefined, hint: string): Promise<void> {
    if (path === undefined) return
    await this.print(`${path}\n`)
    this.note(hint)
  }
}

import * as Flags from '@oclif/core/flags'
import { adminFlags, adminServer, adminServers, allPodsFlag } from '../src/cli/admin-flags.ts'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { durationFlag } from '../src/cli/flags.ts'
import { Failure } from '../src/diagnostics/failure.ts'
import type { AdminServer } from '../src/tools/admin/admin-client.ts'

/** ms until the view has its first rates. */
const FIRST = 1000

export default class Top extends GatewayCommand {
  static override summary = 'Show rates, latencies, errors and budgets of a running gateway.'
  static override description =
    'On a terminal, a live view until q (press ? for the keys); when the gateway stops, it waits until the gateway ' +
    'is back. Otherwise prints one snapshot. Exits 4 when no gateway answers.'
  static override examples = [
    'gwctl top',
    { description: 'Every ten seconds:', command: 'gwctl top --interval 10s' },
    { description: 'One snapshot, for a script:', command: 'gwctl top -o json' },
    { description: 'One of each pod of a Gateway:', command: 'gwctl top --kube edge -n prod --all-pods' },
  ]
  static override flags = {
    interval: durationFlag({ summary: 'Refresh interval, at least 100ms; 2s when unset.' }),
    once: Flags.boolean({ summary: 'Print one snapshot and exit.' }),
    json: Flags.boolean({ summary: 'One JSON object per snapshot.' }),
    output: Flags.option({ char: 'o', options: ['text', 'json'] as const, summary: 'One snapshot in this format.' })(),
    ...adminFlags,
    'all-pods': allPodsFlag('One snapshot of each pod.'),
  }

  async run(): Promise<Outcome> {
    const { flags } = await this.parse(Top)
    this.obey(flags)
    const interval = flags.interval ?? 2000
    if (interval < 100) throw new Failure('usage', '--interval is too short: at least 100ms.')
    const json = flags.json || flags.output === 'json'
    if (flags['all-pods']) {
      const { collectPods } = await import('../src/tools/top/pods.ts')
      const servers = await adminServers(flags, true, this.io, this.told())
      const { text, failure } = await collectPods(servers, interval, json, await this.paint())
      await this.print(text)
      if (failure) throw failure
      return 'ok'
    }
    const admin = await adminServer(flags, this.io, this.told())
    if (this.atTerminal && !flags.once && !json && flags.output === undefined) await this.#browse(admin, interval)
    else await this.#write(admin, interval, !json ? 'text' : flags.json && !flags.once ? 'jsonl' : 'json')
    return 'ok'
  }

  async #browse(admin: AdminServer, interval: number): Promise<void> {
    const { watchGateway } = await import('../src/tools/top/watch.ts')
    const { browseTop } = await import('../src/tools/top/interactive.ts')
    const { isAsciiOnly } = await import('../src/diagnostics/ascii.ts')
    const { stdin, stdout, job } = this.io
    const watch = { interval, first: Math.min(FIRST, interval) }
    await browseTop(stop => watchGateway(admin, watch, stop), {
      // With several pods it may change later.
      get name() {
        return admin.pod ?? admin.name.replace(/^http:\/\//, '')
      },
      interval,
      asciiOnly: isAsciiOnly(this.io.env),
      terminal: { stdin, stdout, job, colors: this.colors() > 0 },
      signal: this.io.interruption(),
    })
  }

  async #write(admin: AdminServer, interval: number, form: 'text' | 'json' | 'jsonl'): Promise<void> {
    const { measuredRates, watchGateway } = await import('../src/tools/top/watch.ts')
    const { ratesJson, topText } = await import('../src/tools/top/text.ts')
    const { columns, isTTY } = this.io.stdout
    const room = isTTY === true && columns ? { width: columns } : {}
    for await (const rates of measuredRates(watchGateway(admin, { interval }))) {
      await this.print(form === 'text' ? topText(rates, { paint: await this.paint(), ...room }) : ratesJson(rates))
      if (form !== 'jsonl') return
    }
  }
}

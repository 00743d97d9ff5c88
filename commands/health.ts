import { adminFlags, adminServers, allPodsFlag } from '../src/cli/admin-flags.ts'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { durationFlag, outputFlag } from '../src/cli/flags.ts'

export default class Health extends GatewayCommand {
  static override summary = 'Check the health of a gateway and its backends.'
  static override description =
    'Exits 0 when the gateway is ready and no backend is without a healthy endpoint, 1 otherwise, 4 when no gateway ' +
    'answers, 5 when it is not ready within --wait.'
  static override examples = [
    'gwctl health',
    { description: 'In a start script:', command: 'gwctl health --wait 30s && curl http://localhost:8080/' },
    { description: 'For a monitor:', command: 'gwctl health --output json' },
    { description: 'Every pod of a Deployment:', command: 'gwctl health --kube deploy/edge -n prod --all-pods' },
  ]
  static override flags = {
    output: outputFlag(['text', 'json'])({ default: { format: 'text' } }),
    wait: durationFlag({ summary: 'Poll until the gateway is ready, for at most this long.' }),
    ...adminFlags,
    'all-pods': allPodsFlag(),
  }

  async run(): Promise<Outcome> {
    const { flags } = await this.parse(Health)
    this.obey(flags)
    const { askEach } = await import('../src/tools/admin/ask-each.ts')
    const { askHealth, isHealthy, healthOutput } = await import('../src/tools/health.ts')
    const { Waiting } = await import('../src/tools/admin/waiting.ts')
    const waiting = flags.wait === undefined ? undefined : new Waiting(flags.wait)
    const all = flags['all-pods']
    const servers = await adminServers(flags, all, this.io, this.told(), waiting)
    const { answers, failure } = await askEach(servers, admin => askHealth(admin, waiting))
    await this.deliver(healthOutput(answers, all, flags.output.format, await this.paint()), flags.output)
    if (failure) throw failure
    return answers.every(({ value }) => isHealthy(value)) ? 'ok' : 'findings'
  }
}

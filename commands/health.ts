import { adminFlags, adminServer } from '../src/cli/admin-flags.ts'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { durationFlag, outputFlag } from '../src/cli/flags.ts'

export default class Health extends GatewayCommand {
  static override summary = 'Say whether a gateway serves, and whether its backends do.'
  static override description =
    'Exits 0 when the gateway is ready and no backend is without a healthy endpoint, 1 otherwise, 4 when no gateway ' +
    'answers, 5 when it is not ready within --wait.'
  static override examples = [
    'gwctl health',
    { description: 'In a start script:', command: 'gwctl health --wait 30s && curl http://localhost:8080/' },
    { description: 'For a monitor:', command: 'gwctl health --output json' },
  ]
  static override flags = {
    output: outputFlag(['text', 'json'])({ default: { format: 'text' } }),
    wait: durationFlag({ summary: 'Ask again until the gateway is ready, for so long.' }),
    ...adminFlags,
  }

  async run(): Promise<Outcome> {
    const { flags } = await this.parse(Health)
    this.obey(flags)
    const { askHealth, isHealthy, healthText } = await import('../src/tools/admin/health.ts')
    const health = await askHealth(await adminServer(flags, this.io, this.told()), flags.wait)
    const text =
      flags.output.format === 'json' ? `${JSON.stringify(health, null, 2)}\n` : healthText(health, await this.paint())
    await this.deliver(text, flags.output)
    return isHealthy(health) ? 'ok' : 'findings'
  }
}

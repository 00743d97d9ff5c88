import * as Flags from '@oclif/core/flags'
import { adminFlags, adminServers } from '../src/cli/admin-flags.ts'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'

export default class Log extends GatewayCommand {
  static override summary = 'Show or change what a running gateway logs.'
  static override description =
    'Changes last until the gateway stops, for all of its workers; in a cluster, for all of its pods. Exits 2 when a level is invalid, 4 when no gateway answers.'
  static override examples = [
    'gwctl log',
    { description: 'Log more of everything:', command: 'gwctl log --level debug' },
    { description: 'More of one module, less of another:', command: 'gwctl log --set gateway=debug --set request=off' },
    { description: 'Restore the initial levels:', command: 'gwctl log --reset' },
    { description: 'In every pod of a Gateway:', command: 'gwctl log --level debug --kube edge -n prod' },
  ]
  static override flags = {
    level: Flags.option({ options: ['off', 'error', 'warn', 'info', 'debug', 'trace'] as const })({
      summary: 'The general level.',
    }),
    set: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'MODULE=LEVEL',
      summary: 'The level of one module: gateway, gateway::mcp::stdio, log, request or telemetry. Repeatable.',
    }),
    reset: Flags.boolean({ summary: 'Restore the initial levels first.' }),
    ...adminFlags,
  }

  async run(): Promise<Outcome> {
    const { flags } = await this.parse(Log)
    this.obey(flags)
    const { askEach } = await import('../src/tools/admin/ask-each.ts')
    const { checkModules, logLevel } = await import('../src/tools/log-level.ts')
    checkModules(flags.set ?? [])
    const directives = [...(flags.level === undefined ? [] : [flags.level]), ...(flags.set ?? [])]
    const servers = await adminServers(flags, flags.pod === undefined, this.io, this.told())
    const { answers, failure } = await askEach(servers, admin => logLevel(admin, directives, flags.reset))
    for (const { admin, value } of answers) await this.print(`${servers.length > 1 ? `${admin.pod}: ` : ''}${value}\n`)
    if (failure) throw failure
    return 'ok'
  }
}

import * as Flags from '@oclif/core/flags'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { adminFlags, adminUrl, durationFlag } from '../src/cli/flags.ts'

export default class Top extends GatewayCommand {
  static override summary = 'Show what a running gateway is doing: rates and latencies of each route and model.'
  static override description =
    'On a terminal it is drawn anew until Ctrl-C, otherwise printed once. Exits 4 when no gateway answers.'
  static override examples = [
    'gwctl top',
    { description: 'Every ten seconds:', command: 'gwctl top --interval 10s' },
    { description: 'One look, for a script:', command: 'gwctl top --once --json' },
  ]
  static override flags = {
    interval: durationFlag({ summary: 'Time between two looks, at least 100ms; 2s when unset.' }),
    once: Flags.boolean({ summary: 'One look and no more.' }),
    json: Flags.boolean({ summary: 'One JSON object per look.' }),
    ...adminFlags,
  }

  async run(): Promise<Outcome> {
    const { flags } = await this.parse(Top)
    this.obey(flags)
    const { watchRates } = await import('../src/tools/top/watch.ts')
    const { topText } = await import('../src/tools/top/screen.ts')
    const { stdout } = this.io
    const live = stdout.isTTY === true && !flags.once && !flags.json
    const interrupted = live ? this.io.interruption() : undefined
    const paint = await this.paint()
    const looks = watchRates(adminUrl(flags, this.io.env), Math.max(100, flags.interval ?? 2000), interrupted)
    if (live) await this.print(SCREEN.enter)
    try {
      for await (const rates of looks) {
        const { columns, rows } = stdout
        const room = { ...(columns ? { width: columns } : {}), ...(live && rows ? { rows } : {}) }
        const text = flags.json ? `${JSON.stringify(rates)}\n` : topText(rates, { paint, ...room })
        await this.print(live ? `${SCREEN.home}${text}` : text)
        if (!live && (flags.once || !flags.json)) break
      }
    } finally {
      if (live) await this.print(SCREEN.leave)
    }
    if (interrupted?.aborted) throw interrupted.reason
    return 'ok'
  }
}

/** The other screen, so that what was on the terminal is there again afterwards. */
const SCREEN = {
  enter: '\u001b[?1049h\u001b[?25l',
  home: '\u001b[H\u001b[J',
  leave: '\u001b[?25h\u001b[?1049l',
} as const

import * as Flags from '@oclif/core/flags'
import { adminFlags, adminServer } from '../src/cli/admin-flags.ts'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { durationFlag } from '../src/cli/flags.ts'

export default class Top extends GatewayCommand {
  static override summary =
    'Show what a running gateway is doing: rates, latencies and errors of each route and model, and what is left of rate limits.'
  static override description =
    'On a terminal it is drawn anew until Ctrl-C, otherwise printed once. Exits 4 when no gateway answers.'
  static override examples = [
    'gwctl top',
    { description: 'Every ten seconds:', command: 'gwctl top --interval 10s' },
    { description: 'One look, for a script:', command: 'gwctl top -o json' },
  ]
  static override flags = {
    interval: durationFlag({ summary: 'Time between two looks, at least 100ms; 2s when unset.' }),
    once: Flags.boolean({ summary: 'One look and no more.' }),
    json: Flags.boolean({ summary: 'One JSON object per look.' }),
    output: Flags.option({ char: 'o', options: ['text', 'json'] as const, summary: 'One look in this form.' })(),
    ...adminFlags,
  }

  async run(): Promise<Outcome> {
    const { flags } = await this.parse(Top)
    this.obey(flags)
    const { watchRates } = await import('../src/tools/top/watch.ts')
    const { topText } = await import('../src/tools/top/screen.ts')
    const { stdout } = this.io
    const json = flags.json || flags.output === 'json'
    const live = stdout.isTTY === true && !flags.once && !json
    const interrupted = live ? this.io.interruption() : undefined
    const paint = await this.paint()
    const looks = watchRates(
      await adminServer(flags, this.io, this.told()),
      Math.max(100, flags.interval ?? 2000),
      interrupted,
    )
    if (live) await this.print(SCREEN.enter)
    try {
      let last: string | undefined
      for await (const look of looks) {
        if ('lost' in look && !live) throw look.lost
        const { columns, rows } = stdout
        const room = { ...(columns ? { width: columns } : {}), ...(live && rows ? { rows: rows - 1 } : {}) }
        const lost = 'lost' in look ? `${paint.error(look.lost.message)} Still trying.\n` : ''
        if ('rates' in look) last = json ? `${JSON.stringify(look.rates)}\n` : topText(look.rates, { paint, ...room })
        await this.print(live ? `${SCREEN.home}${lost}${last ?? ''}` : (last ?? ''))
        if (!live && (flags.once || flags.output !== undefined || !json)) break
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

import type { Path } from '../../../diagnostics/diagnostic.ts'
import type { Lint } from '../lint.ts'

/** GW571: a pause longer than the request timeout. */
export const outwaitedLimit: Lint = file => {
  for (const { policies } of file.sites) {
    const { timeout, delay, retry } = policies
    const limit = timeout?.requestTimeout
    if (!timeout || !limit) continue
    const report = (path: Path, message: string, help: string) =>
      file.report({
        code: 'GW571',
        message,
        path,
        at: 'value',
        label: 'longer than the request may take',
        help,
        related: [{ path: [...file.pathOf(timeout), 'requestTimeout'], at: 'value', message: 'ends the request' }],
      })
    const wait = delay === undefined || 'conditional' in delay ? undefined : fixedDuration(delay.duration.text)
    if (delay && wait !== undefined && wait >= limit)
      report(
        [...file.pathOf(delay), 'duration'],
        'the delay counts against `requestTimeout` and uses it up: every request gets 504',
        'shorten the delay, or allow requests more time',
      )
    if (retry?.backoff !== undefined && retry.backoff >= limit)
      report(
        [...file.pathOf(retry), 'backoff'],
        'the request ends during the pause before its first retry: nothing is ever repeated',
        'shorten the pause, or allow requests more time',
      )
  }
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** The ms of an expression that is a constant duration. */
function fixedDuration(text: string): number | undefined {
  const plain = /^\s*(?:duration\(\s*)?["']?((?:\d+(?:\.\d+)?(?:ms|s|m|h))+)["']?\s*\)?\s*$/.exec(text)?.[1]
  if (plain === undefined) return undefined
  return [...plain.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * UNITS[unit!]!,
    0,
  )
}

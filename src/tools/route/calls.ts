import type { HeadSnapshot } from '../../trace/trace-event.ts'
import { type DiffLine, diffLines } from '../check/line-diff.ts'
import type { DryCall, DryOutcome } from '../dry-run/dry-run.ts'
import { textOf } from '../events/body-text.ts'
import type { CallMade } from './explanation.ts'

/** Every call that would be made; those for the request as a diff against it. */
export function callsOf(received: HeadSnapshot, body: Buffer | undefined, { upstream }: DryOutcome): CallMade[] {
  return upstream.map(call => ({
    to: addressOf(call),
    purpose: call.purpose,
    method: call.method,
    url: call.shown.url ?? call.url,
    head: call.purpose === 'backend' ? diffLines(linesOf(received), linesOf(call.shown)) : [],
    body: call.purpose === 'backend' ? bodyDiff(body, call) : [],
    status: call.status ?? null,
  }))
}

/** The names include `host:port` followed by the host, port 0 for a program, or the path of a socket. */
function addressOf({ names, url }: DryCall): string {
  if (names.some(name => name.endsWith(':0'))) return `${names[0]}, a program`
  return names.find((name, i) => name.startsWith(`${names[i + 1]}:`)) ?? names[0] ?? url
}

/** Order and case are insignificant, so both sides are normalized. */
function linesOf({ method, url, headers }: HeadSnapshot): string[] {
  const fields = headers.map(([name, value]) => `${name.toLowerCase()}: ${value}`)
  return [`${method} ${url}`, ...fields.toSorted()]
}

function bodyDiff(body: Buffer | undefined, call: DryCall): readonly DiffLine[] {
  if (call.body.length === 0 && (body === undefined || body.length === 0)) return []
  return diffLines(textOf(body ?? Buffer.alloc(0)).split('\n'), textOf(call.body).split('\n'))
}

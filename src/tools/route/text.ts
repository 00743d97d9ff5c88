import type { Paint } from '../../diagnostics/paint.ts'
import type { DiffLine } from '../check/line-diff.ts'
import { jsonLines } from '../events/body-text.ts'
import { MARKS, shortKey } from '../events/steps.ts'
import type { BackendChosen, CallMade, Explanation, NotChosen, PolicyPassed } from './explanation.ts'
import { type Piece, Sections } from './sections.ts'

interface RouteTextOptions {
  readonly paint: Paint
  /** All routes that were not chosen, instead of only the nearest. */
  readonly allRoutes: boolean
  /** Terminal width. Undefined to leave lines unwrapped. */
  readonly width: number | undefined
}

/** The path of the request from top to bottom: a line per step, with its explanation below. */
export function explanationText(explanation: Explanation, { paint, allRoutes, width }: RouteTextOptions): string {
  const out = new Sections()
  const most = allRoutes ? Number.POSITIVE_INFINITY : NEAREST
  writeTitle(explanation, out)
  writeWay(explanation, out, most)
  for (const policy of explanation.policies) writePolicy(policy, out)
  for (const backend of explanation.backends) writeBackend(backend, out, most)
  for (const call of explanation.calls) writeCall(call, out)
  for (const { action, verdict, origin } of explanation.guards) {
    const role = action === 'allow' || action === 'audit' ? 'info' : action === 'fail' ? 'error' : 'warning'
    out.add('guard', [role, verdict], ...at(origin))
  }
  for (const { path, reason } of explanation.lost) out.add('lost', ['warning', `${path}: ${reason}`])
  writeResponse(explanation, out)
  for (const { unknown, assumed, flag } of explanation.assumed) {
    out.add('unknown', `${unknown}, assumed ${assumed}${flag === undefined ? '' : ` (${flag})`}`)
  }
  return out.text(paint, width)
}

/** Number of alternatives shown unless all are requested. */
const NEAREST = 5

const VERDICTS = {
  reached: 'from a backend',
  answered: 'from the gateway, as configured',
  failed: 'although a backend was called',
  rejected: 'from the gateway, which refuses it',
  unmatched: 'from the gateway, where nothing matches',
} as const

function writeTitle({ request, verdict, status, reason, error, time }: Explanation, out: Sections): void {
  const good = verdict === 'reached' || verdict === 'answered'
  const outcome = `${status ?? 'no response'} ${VERDICTS[verdict]}`
  out.title(['bold', `${request.method} ${request.url}`], '  ', [good ? 'success' : 'error', outcome])
  const why = good ? '' : `; ${reason}${error === undefined ? '' : `: ${error}`}`
  out.title(['dim', `from ${request.source} at ${time}${why}`])
  out.title()
}

function writeWay({ port, listener, routes }: Explanation, out: Sections, most: number): void {
  if (listener === null) {
    out.add('listener', ['dim', `not looked for on port ${port}: the connection is closed before`])
    return
  }
  const named = (what: string, name: string | null): Piece =>
    name === null ? ['error', `${MARKS.error} no ${what} matches`] : shortKey(name)
  out.add('listener', named('listener', listener.name), ` on port ${port}`, ...at(listener.origin))
  writeOthers(listener.others, out, most)
  for (const route of routes) {
    out.add('route', named('route', route.name), ...at(route.origin))
    writeOthers(route.others, out, most)
  }
}

function writeOthers(others: readonly NotChosen[], out: Sections, most: number): void {
  for (const { name, why, origin } of others.slice(0, most)) {
    out.more(1, ['dim', `not ${shortKey(name)}: ${why}`], ...at(origin))
  }
  if (others.length > most) out.more(1, ['dim', `and ${others.length - most} more (--all-routes)`])
}

function at(origin: string | undefined): Piece[] {
  return origin === undefined || origin === '' ? [] : ['  ', ['dim', origin]]
}

const RESULTS = { applied: 'success', replied: 'warn', failed: 'error', skipped: 'info' } as const

function writePolicy(policy: PolicyPassed, out: Sections): void {
  const { result, detail, rules } = policy
  const mark = result === 'in force' || result === 'not reached' ? 'info' : RESULTS[result]
  const place = policy.at === 'route' ? '' : `, at the ${policy.at}`
  const words = `${policy.policy} ${result}${place}${detail === undefined ? '' : `: ${detail}`}`
  const shown: Piece[] =
    mark === 'error'
      ? [['error', `${MARKS.error} ${words}`]]
      : [mark === 'success' ? ['success', MARKS.success] : MARKS[mark], ` ${words}`]
  out.add('policies', ...shown, ...at(policy.origins.join(' + ')))
  for (const { name, wonBy, overridden } of policy.fields) {
    const over = overridden.length === 0 ? '' : `, over ${overridden.join(', ')}`
    const by = wonBy.length === 0 ? `lost, from ${overridden.join(', ')}` : `${wonBy.join(' + ')}${over}`
    out.more(2, ['dim', `${name}: ${by}`])
  }
  for (const origin of policy.overridden) out.more(2, ['dim', `overridden: ${origin}`])
  for (const { rule, mode, matched, subject } of rules) {
    out.more(2, `${matched}: ${mode} if ${rule}${subject === undefined ? '' : `, for ${subject}`}`)
  }
  const ruled = new Set(rules.map(({ rule }) => rule))
  for (const { expression, result: value, error } of policy.expressions) {
    if (error === undefined && ruled.has(expression)) continue
    out.more(2, `${expression} → ${error ?? (typeof value === 'string' ? value : JSON.stringify(value))}`)
  }
}

function writeBackend({ name, kind, why, origin, others }: BackendChosen, out: Sections, most: number): void {
  out.add('backend', `${shortKey(name)} (${kind})${why === undefined ? '' : `: ${why}`}`, ...at(origin))
  writeOthers(others, out, most)
}

const SIDES = { both: [' ', 'dim'], left: ['-', 'error'], right: ['+', 'success'] } as const

function writeCall({ to, purpose, method, url, head, body, status }: CallMade, out: Sections): void {
  const answer = status === null ? 'nothing answers' : `answered with ${status}`
  if (purpose === 'service') out.add('service', `${method} ${url} for a policy, ${answer}`)
  else out.add('sent', `to ${to}, ${answer}`)
  writeDiff(head, out)
  if (body.some(({ side }) => side !== 'both')) writeDiff(body, out)
  else if (body.length > 0) out.more(2, ['dim', 'the body as it came'])
}

/** Context lines around a change, and lines that are shown in full. */
const AROUND = 2
const SHORT = 20

function writeDiff(diff: readonly DiffLine[], out: Sections): void {
  const near = (i: number) => diff.slice(Math.max(0, i - AROUND), i + AROUND + 1).some(({ side }) => side !== 'both')
  let left = false
  for (const [i, { side, text }] of diff.entries()) {
    const shown = diff.length <= SHORT || near(i)
    if (!shown && !left) out.more(1, ['dim', '  …'])
    left = !shown
    const [mark, tone] = SIDES[side]
    if (shown) out.more(1, [tone, `${mark} ${text}`])
  }
}

function writeResponse({ response }: Explanation, out: Sections): void {
  if (response === null) return
  out.add('response', String(response.status))
  for (const [name, value] of response.headers) out.more(1, `${name}: ${value}`)
  const body = response.body === '' ? [] : jsonLines(response.body).trimEnd().split('\n')
  for (const line of body.slice(0, SHORT)) out.more(1, line)
  const left = body.length - SHORT
  if (left > 0) out.more(1, ['dim', `and ${left} more ${left === 1 ? 'line' : 'lines'} (-o json has them)`])
}

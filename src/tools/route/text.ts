import type { Paint } from '../../diagnostics/paint.ts'
import { visible } from '../../diagnostics/visible.ts'
import type { DiffLine } from '../line-diff.ts'
import { MARKS, shortKey } from '../trace/steps.ts'
import type { BackendChosen, CallMade, Explanation, NotChosen, PolicyPassed } from './explanation.ts'

export interface RouteTextOptions {
  readonly paint: Paint
  /** Every route that was not chosen instead of the nearest ones. */
  readonly allRoutes: boolean
}

/** The way of the request from top to bottom: a line for each step, what explains it below. */
export function explanationText(explanation: Explanation, options: RouteTextOptions): string {
  const lines = new Lines(options)
  writeTitle(explanation, lines)
  writeWay(explanation, lines)
  for (const policy of explanation.policies) writePolicy(policy, lines)
  for (const backend of explanation.backends) writeBackend(backend, lines)
  for (const call of explanation.calls) writeCall(call, lines)
  writeResponse(explanation, lines)
  for (const { unknown, assumed, flag } of explanation.assumed) {
    lines.add('unknown', `${unknown}, assumed ${assumed}${flag === undefined ? '' : ` (${flag})`}`)
  }
  return lines.text()
}

/** Others that are shown where not all are asked for. */
const NEAREST = 5
const LABEL = 10

/** Each line has the name of its section, once, and a text beside it. */
class Lines {
  readonly paint: Paint
  readonly allRoutes: boolean
  readonly #lines: string[] = []
  #section = ''

  constructor({ paint, allRoutes }: RouteTextOptions) {
    this.paint = paint
    this.allRoutes = allRoutes
  }

  title(text: string): void {
    this.#lines.push(text)
  }

  add(section: string, text: string, origin?: string): void {
    const label = section === this.#section ? '' : section
    this.#section = section
    const at = origin === undefined ? '' : `  ${this.paint.dim(visible(origin))}`
    this.#lines.push(`${this.paint.bold(label.padEnd(LABEL))}${text}${at}`)
  }

  more(text: string, depth = 1): void {
    this.#lines.push(`${' '.repeat(LABEL)}${'  '.repeat(depth)}${text}`)
  }

  others(others: readonly NotChosen[]): void {
    const shown = this.allRoutes ? others : others.slice(0, NEAREST)
    for (const { name, why, origin } of shown) {
      const at = origin === undefined ? '' : `  ${origin}`
      this.more(this.paint.dim(visible(`not ${shortKey(name)}: ${why}${at}`)))
    }
    const left = others.length - shown.length
    if (left > 0) this.more(this.paint.dim(`and ${left} more (--all-routes)`))
  }

  text(): string {
    return this.#lines.map(line => `${line.trimEnd()}\n`).join('')
  }
}

const VERDICTS = {
  reached: 'from a backend',
  answered: 'from the gateway, as configured',
  failed: 'although a backend was called',
  rejected: 'from the gateway, which refuses it',
  unmatched: 'from the gateway, where nothing matches',
} as const

function writeTitle({ request, verdict, status, reason, error, time }: Explanation, lines: Lines): void {
  const { paint } = lines
  const good = verdict === 'reached' || verdict === 'answered'
  const outcome = `${status ?? 'no response'} ${VERDICTS[verdict]}`
  lines.title(
    `${paint.bold(visible(`${request.method} ${request.url}`))}  ${good ? paint.success(outcome) : paint.error(outcome)}`,
  )
  const why = good ? '' : `; ${reason}${error === undefined ? '' : `: ${error}`}`
  lines.title(paint.dim(visible(`from ${request.source} at ${time}${why}`)))
  lines.title('')
}

function writeWay({ port, listener, routes }: Explanation, lines: Lines): void {
  const { paint } = lines
  const none = (what: string) => paint.error(`${MARKS.error} no ${what} matches`)
  const name = listener.name === null ? none('listener') : visible(shortKey(listener.name))
  lines.add('listener', `${name} on port ${port}`, listener.origin)
  lines.others(listener.others)
  for (const route of routes) {
    lines.add('route', route.name === null ? none('route') : visible(shortKey(route.name)), route.origin)
    lines.others(route.others)
  }
}

const RESULTS = { applied: 'success', replied: 'warn', failed: 'error', skipped: 'info' } as const

function writePolicy(policy: PolicyPassed, lines: Lines): void {
  const { paint } = lines
  const { result, detail } = policy
  const mark = result === 'in force' || result === 'not reached' ? 'info' : RESULTS[result]
  const place = policy.at === 'route' ? '' : `, at the ${policy.at}`
  const words = visible(`${policy.policy} ${result}${place}${detail === undefined ? '' : `: ${detail}`}`)
  const origins = policy.origins.join(' + ')
  if (mark === 'error') lines.add('policies', paint.error(`${MARKS.error} ${words}`), origins)
  else lines.add('policies', `${mark === 'success' ? paint.success(MARKS.success) : MARKS[mark]} ${words}`, origins)
  for (const { name, wonBy, overridden } of policy.fields) {
    const over = overridden.length === 0 ? '' : `, over ${overridden.join(', ')}`
    const by = wonBy.length === 0 ? `lost, from ${overridden.join(', ')}` : `${wonBy.join(' + ')}${over}`
    lines.more(paint.dim(visible(`${name}: ${by}`)), 2)
  }
  for (const at of policy.overridden) lines.more(paint.dim(visible(`overridden: ${at}`)), 2)
  for (const { rule, mode, matched, subject } of policy.rules) {
    const about = subject === undefined ? '' : `, for ${subject}`
    lines.more(visible(`${matched}: ${mode} if ${rule}${about}`), 2)
  }
  const ruled = new Set(policy.rules.map(({ rule }) => rule))
  for (const { expression, result, error } of policy.expressions) {
    const value = error ?? (typeof result === 'string' ? result : JSON.stringify(result))
    if (error !== undefined || !ruled.has(expression)) lines.more(visible(`${expression} → ${value}`), 2)
  }
}

function writeBackend({ name, kind, why, origin, others }: BackendChosen, lines: Lines): void {
  const text = `${shortKey(name)} (${kind})${why === undefined ? '' : `: ${why}`}`
  lines.add('backend', visible(text), origin)
  lines.others(others)
}

const SIDES = { both: [' ', 'plain'], left: ['-', 'error'], right: ['+', 'success'] } as const

function writeCall({ to, purpose, method, url, head, body, status }: CallMade, lines: Lines): void {
  const answer = status === null ? 'nothing answers' : `answered with ${status}`
  const what = purpose === 'service' ? `${method} ${url} for a policy` : `to ${to}`
  lines.add(purpose === 'service' ? 'service' : 'sent', visible(`${what}, ${answer}`))
  writeDiff(head, lines)
  const changed = body.some(({ side }) => side !== 'both')
  if (changed) writeDiff(body, lines)
  else if (body.length > 0) lines.more(lines.paint.dim('  the body as it came'))
}

/** Lines around a change that did not change themselves. */
const AROUND = 2

function writeDiff(diff: readonly DiffLine[], lines: Lines): void {
  const near = (at: number) => diff.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ side }) => side !== 'both')
  let left = false
  for (const [i, { side, text }] of diff.entries()) {
    if (diff.length > 20 && !near(i)) {
      if (!left) lines.more(lines.paint.dim('  …'))
      left = true
      continue
    }
    left = false
    const [mark, tone] = SIDES[side]
    const line = visible(`${mark} ${text}`)
    lines.more(tone === 'plain' ? lines.paint.dim(line) : lines.paint[tone](line))
  }
}

/** Lines of a response's body that are shown. */
const MOST = 20

function writeResponse({ response }: Explanation, lines: Lines): void {
  if (response === null) return
  lines.add('response', String(response.status))
  for (const [name, value] of response.headers) lines.more(visible(`${name}: ${value}`))
  if (response.body === '') return
  const body = response.body.trimEnd().split('\n')
  for (const line of body.slice(0, MOST)) lines.more(visible(line))
  if (body.length > MOST) lines.more(lines.paint.dim(`and ${body.length - MOST} lines more (-o json has them)`))
}

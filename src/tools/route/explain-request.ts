import type { Bind, Listener, Route } from '../../config/snapshot.ts'
import { hostOf } from '../../engine/route-table.ts'
import { listenerMisses } from '../../engine/trace/route-misses.ts'
import type { HeadSnapshot, TraceMessage } from '../../trace/trace-event.ts'
import type { DryGateway, DryOutcome, DryRequest } from '../dry-run/dry-run.ts'
import { plainText } from '../events/body-text.ts'
import { wordsOf } from '../events/steps.ts'
import { assumptionsOf } from './assumptions.ts'
import { backendsOf } from './backends.ts'
import { callsOf } from './calls.ts'
import { checkHttp } from './connection.ts'
import type { Explanation, Verdict } from './explanation.ts'
import { passedPolicies } from './passed-policies.ts'
import { messagesOf, originOf, place } from './trace-reading.ts'

/** A request that was run, with the details of the run. */
export interface Run {
  readonly gateway: DryGateway
  readonly request: DryRequest
  readonly outcome: DryOutcome
  readonly seed: number
  /** Names with a stub of their own. */
  readonly stubbed: ReadonlySet<string>
  /** The session was opened for this request. */
  readonly opensSession: boolean
  /** Unset variables, and for each unreadable file a clause that says so. */
  readonly lacking: { readonly variables: readonly string[]; readonly files: readonly string[] }
}

/** Summarizes a dry run from its events, its calls and the compiled configuration. Throws a Failure. */
export function explainRequest(run: Run): Explanation {
  const { gateway, request, outcome, seed } = run
  const { snapshot } = gateway
  const bind = snapshot.binds.find(({ key }) => key === outcome.bind) as Bind
  const listener = bind.listeners.find(({ key }) => key === outcome.listener)
  checkHttp(bind, listener)
  const route = listener && routeOf(listener, outcome.route)
  const received = receivedHead(outcome)
  const body = request.body && plainText(request.body)
  return {
    verdict: verdictOf(outcome),
    status: outcome.status ?? null,
    reason: outcome.reason,
    ...(outcome.error === undefined ? {} : { error: outcome.error }),
    request: { ...received, ...(body === undefined ? {} : { body }), source: request.source ?? '127.0.0.1' },
    time: new Date(gateway.clock.start).toISOString(),
    seed,
    port: bind.port,
    listener: closedBefore(outcome) ? null : listenerChoice(bind, listener, request, received),
    routes: routeChoices(outcome),
    policies: passedPolicies({ bind, listener, route, outcome }),
    backends: backendsOf(route, outcome, seed),
    calls: callsOf(received, request.body, outcome),
    guards: outcome.events.flatMap(({ message, origins }) =>
      message.type === 'guard'
        ? [{ action: message.action, verdict: wordsOf({ message }).text, ...originOf(origins) }]
        : [],
    ),
    lost: messagesOf(outcome.events, 'llm').at(-1)?.losses ?? [],
    response: outcome.shown ? { ...outcome.shown, body: plainText(outcome.body) } : null,
    assumed: assumptionsOf(run, bind, listener),
  }
}

/** Includes routes of groups. */
function routeOf(listener: Listener, key: string | undefined): Route | undefined {
  const known = new Set(listener.routes)
  for (const { backends } of known) {
    for (const { delegates } of backends) for (const route of delegates?.routes ?? []) known.add(route)
  }
  return [...known].find(route => route.key === key)
}

function receivedHead({ events }: DryOutcome): HeadSnapshot {
  const [first] = messagesOf(events, 'snapshot')
  return first?.state ?? { headers: [] }
}

/** A connection policy closed it. */
function closedBefore({ reason, events }: DryOutcome): boolean {
  return reason === 'Connection' && messagesOf(events, 'listener').length === 0
}

function listenerChoice(
  bind: Bind,
  listener: Listener | undefined,
  { sni }: DryRequest,
  { url = '' }: HeadSnapshot,
): NonNullable<Explanation['listener']> {
  const [, scheme, host = ''] = /^(\w+):\/\/([^/]*)/.exec(url) ?? []
  const name = scheme === 'https' ? (sni ?? host) : host
  const misses = listenerMisses(bind.listeners, hostOf(name), listener?.key)
  return {
    name: listener?.key ?? null,
    ...(listener ? { origin: place(listener.origin) } : {}),
    others: misses.map(({ listener, failed, origin }) => ({ name: listener, why: failed, origin: place(origin) })),
  }
}

function routeChoices({ events }: DryOutcome): Explanation['routes'] {
  return events.flatMap(({ message, origins }) => {
    if (message.type !== 'route') return []
    return [{ name: message.selected, ...originOf(origins), others: message.tried.map(triedRoute) }]
  })
}

function triedRoute({ route, failed, origin }: Extract<TraceMessage, { type: 'route' }>['tried'][number]) {
  return { name: route, why: failed, ...originOf(origin ? [origin] : []) }
}

function verdictOf({ reason, events, upstream }: DryOutcome): Verdict {
  const missed = [...messagesOf(events, 'listener'), ...messagesOf(events, 'route')].some(message => {
    return (message.type === 'listener' ? message.listener : message.selected) === null
  })
  if (missed) return 'unmatched'
  if (reason === 'Upstream') return 'reached'
  if (reason === 'DirectResponse') return 'answered'
  return upstream.some(({ purpose }) => purpose === 'backend') ? 'failed' : 'rejected'
}

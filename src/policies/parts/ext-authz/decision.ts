import type { Exchange, Reply } from '../../../http/exchange.ts'
import { applyChange, type FieldChange } from '../../../http/field-change.ts'
import type { Limits } from '../../policy.ts'
import { setRequestPseudo } from '../pseudo-headers.ts'

/** A service's decision about a request: plain data, so that it can be cached and reapplied. */
export type Decision = Allowed | Denied

export interface Allowed {
  readonly allowed: true
  /** Changes to the request. */
  readonly changes: readonly FieldChange[]
  /** New values of `:path`, `:method`, `:scheme`, `:authority`. */
  readonly pseudo: readonly (readonly [name: string, value: string])[]
  /** Request fields to remove, in lower case; applied last. */
  readonly removed: readonly string[]
  readonly query: QueryChanges | undefined
  /** Changes to the response, whatever produces it. */
  readonly responseChanges: readonly FieldChange[]
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

export interface Denied {
  readonly allowed: false
  readonly reply: Reply
  /** Replaces `reply`: where a client is sent depends on its own request, not on the one that was decided about. */
  readonly redirect?: (x: Exchange) => Reply
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

export interface QueryChanges {
  readonly set: readonly (readonly [name: string, value: string])[]
  readonly removed: readonly string[]
}

export const NOTHING_TO_ADD: Allowed = {
  allowed: true,
  changes: [],
  pseudo: [],
  removed: [],
  query: undefined,
  responseChanges: [],
  metadata: undefined,
}

/** Applies the decision to the request; returns a reply if it is denied. */
export function apply(decision: Decision, x: Exchange, { paths }: Limits): Reply | undefined {
  const { metadata } = decision
  if (metadata) x.external.extauthz = { ...x.external.extauthz, ...metadata }
  if (!decision.allowed) return decision.redirect?.(x) ?? decision.reply
  const { headers } = x.request
  for (const change of decision.changes) applyChange(headers, change)
  for (const [name, value] of decision.pseudo) setRequestPseudo(name, paths)(x, value)
  for (const name of decision.removed) headers.delete(name)
  if (decision.query) x.request.path = changedQuery(x.request.path, decision.query)
  x.queuedChanges.push(...decision.responseChanges)
  return undefined
}

/** Other parameters are kept verbatim. */
function changedQuery(target: string, { set, removed }: QueryChanges): string {
  const at = target.indexOf('?')
  const path = at < 0 ? target : target.slice(0, at)
  const named = new Set([...removed, ...set.map(([name]) => name)])
  const kept =
    at < 0
      ? []
      : target
          .slice(at + 1)
          .split('&')
          .filter(part => part !== '' && !named.has(nameOf(part)))
  // A removed parameter must not be re-added by `set`.
  const gone = new Set(removed)
  const added = set.filter(([name]) => !gone.has(name)).map(pair => pair.map(encodeURIComponent).join('='))
  const query = [...kept, ...added].join('&')
  return query === '' ? path : `${path}?${query}`
}

/** Decoded as services and backends do. */
function nameOf(parameter: string): string {
  const name = parameter.split('=', 1)[0] as string
  try {
    return decodeURIComponent(name.replaceAll('+', ' '))
  } catch {
    return name
  }
}

import type { Route, Snapshot } from '../../config/snapshot.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import { frontendPolicies, trafficPolicies } from '../../policies/index.ts'
import { shortKey } from '../events/steps.ts'
import { Names } from '../test-file/matcher.ts'

const POLICIES: ReadonlySet<string> = new Set([...trafficPolicies, ...frontendPolicies].map(({ name }) => name))

/** The problem with a policy's name. Undefined if it exists. */
export function unknownPolicy(name: string): { readonly message: string; readonly help?: string } | undefined {
  if (POLICIES.has(name)) return undefined
  const help = didYouMean(name, POLICIES)
  return { message: `no policy is called \`${name}\``, ...(help && { help }) }
}

/** A remark on an expected route or listener that the configuration does not have. */
export function remarkOn(field: string, expected: unknown, { binds }: Snapshot): string | undefined {
  if (typeof expected !== 'string') return undefined
  const listeners = binds.flatMap(bind => bind.listeners)
  const keys = new Set<string>()
  if (field === 'listener') for (const { key } of listeners) keys.add(key)
  else if (field === 'route') for (const { routes } of listeners) addKeys(routes, keys)
  else return undefined
  if (new Names([...keys]).is(expected)) return undefined
  return `no ${field} is called so${suggestion(expected, keys)}`
}

function suggestion(name: string, keys: ReadonlySet<string>): string {
  const guess = didYouMean(
    name,
    [...keys].flatMap(key => [shortKey(key), key]),
  )
  return guess === undefined ? '' : `, ${guess}`
}

/** Includes the groups that they delegate to, possibly cyclically. */
function addKeys(routes: readonly Route[], into: Set<string>): void {
  for (const { key, backends } of routes) {
    if (into.has(key)) continue
    into.add(key)
    for (const { delegates } of backends) if (delegates) addKeys(delegates.routes, into)
  }
}

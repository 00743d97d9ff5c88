import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import { canonical } from '../resources/graph.ts'
import type { Resource } from '../resources/resource.ts'
import { type ParentState, type RouteState, shownRef } from './attachment.ts'
import { nameOf, specOf } from './cluster-view.ts'
import { isFalse, isTrue } from './status/conditions.ts'

/** The statuses of models for the route rules that they name as parents; a route that loses its root reports it. */
export function modelParents(states: readonly RouteState[]): ReadonlyMap<RouteState, readonly ParentState[]> {
  const routes = new Map(
    states.flatMap(state => (state.route.kind.kind === 'HTTPRoute' ? [[nameOf(state.route), state] as const] : [])),
  )
  const models = states.filter(({ route }) => route.kind.kind === 'ProxyModel')
  const direct = new Set(models.flatMap(({ listeners }) => listeners))
  const out = new Map<RouteState, readonly ParentState[]>()
  for (const model of models) {
    const parents = asItems(specOf(model.route).parentRefs).flatMap(ref => {
      const route =
        asText(ref.kind) === 'HTTPRoute' ? routes.get(`${model.route.namespace}/${String(ref.name)}`) : undefined
      return route && route.parents.length > 0 ? parentState(ref, model.route, route, direct) : []
    })
    out.set(model, parents)
  }
  return out
}

function parentState(
  ref: Fields,
  model: Resource,
  route: RouteState,
  direct: ReadonlySet<RouteState['listeners'][number]>,
): ParentState {
  const refuse = (message: string): ParentState => ({
    ref,
    shown: shownRef(ref, model),
    accepted: isFalse('Accepted', 'NoMatchingParent', message),
    listeners: [],
  })
  const name = nameOf(route.route)
  const section = asText(ref.sectionName)
  const rules = asItems(specOf(route.route).rules)
  const named = section === undefined ? rules : rules.filter(rule => rule.name === section)
  const [rule] = named
  if (named.length !== 1 || !rule) {
    return refuse(
      section === undefined ? `HTTPRoute ${name} has several rules: name one` : `rule "${section}" not found`,
    )
  }
  if (!servesModels(rule)) return refuse(`the rule of HTTPRoute ${name} does not serve models alone`)
  const contested = route.listeners.filter(listener => direct.has(listener))
  if (contested.length > 0 && takesRoot(rule)) {
    const where = contested.map(({ gateway, name: listener }) => `${nameOf(gateway)}.${listener}`).join(', ')
    const message = `models are attached directly to ${where}, which serve them at the root path`
    route.resolved = isFalse('ResolvedRefs', 'ModelRoutingConflict', message)
    return refuse(message)
  }
  return { ...refuse(''), accepted: isTrue('Accepted', 'Accepted', `Successfully accepted ${model.kindName}`) }
}

/** A rule delegates to models if it does nothing else: one reference to all of them, path prefixes, no rewriting. */
function servesModels(rule: Fields): boolean {
  const [ref, ...others] = asItems(rule.backendRefs)
  if (!ref || others.length > 0 || canonical(asText(ref.kind) ?? '') !== 'ProxyModel' || ref.name !== '*') return false
  const plain = ref.port === undefined && (ref.weight ?? 1) === 1 && asItems(ref.filters).length === 0
  const prefixes = asItems(rule.matches).every(({ path }) => (asFields(path)?.type ?? 'PathPrefix') === 'PathPrefix')
  const rewrites = asItems(rule.filters).some(({ type }) => type === 'URLRewrite' || type === 'RequestRedirect')
  return plain && prefixes && !rewrites
}

function takesRoot(rule: Fields): boolean {
  const matches = asItems(rule.matches)
  return matches.length === 0 || matches.some(({ path }) => (asText(asFields(path)?.value) ?? '/') === '/')
}

import { Failure } from '../../diagnostics/failure.ts'
import type { Paint } from '../../diagnostics/paint.ts'
import { printYaml } from '../../diagnostics/print-yaml.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import { visible } from '../../diagnostics/visible.ts'
import type { DumpDocument, DumpPolicies, DumpRoute } from '../config-dump/model.ts'

/**
 * Finds a route by its key, `namespace/name`, name or the end of its key (`chat#2`). Throws a Failure if there is none,
 * or several.
 */
export function findRoute(dump: DumpDocument, wanted: string): DumpRoute {
  const ways: readonly ((route: DumpRoute) => boolean)[] = [
    ({ key }) => key === wanted,
    ({ namespace, name }) => `${namespace}/${name}` === wanted,
    ({ name }) => name === wanted,
    ({ key }) => key.endsWith(`/${wanted}`),
  ]
  for (const isMeant of ways) {
    const found = dump.routes.filter(isMeant)
    if (found.length === 1) return found[0] as DumpRoute
    if (found.length > 1) {
      throw new Failure('usage', `${wanted} is the name of ${found.length} routes.`, {
        help: `Write one of their keys: ${found.map(({ key, origin }) => (origin ? `${key} (${origin})` : key)).join(', ')}.`,
      })
    }
  }
  const guess = didYouMean(
    wanted,
    dump.routes.map(route => `${route.namespace}/${route.name}`),
  )
  throw new Failure('usage', `no route is called ${wanted}${guess === undefined ? '.' : `: ${guess}`}`, {
    help: '`gwctl dump routes` lists them.',
  })
}

export interface EffectivePolicy {
  readonly policy: string
  readonly at: string
  readonly spec: unknown
  readonly wonBy: readonly string[]
  readonly overridden: readonly string[]
  /** The source of each field, if several levels declare the policy. */
  readonly fields: readonly EffectiveField[]
}

export type EffectiveField = NonNullable<DumpPolicies[string]['fields']>[number]

/** All policies that apply to a request on this route, in execution order. */
export function effectivePolicies(dump: DumpDocument, route: DumpRoute): readonly EffectivePolicy[] {
  const listener = dump.listeners.find(({ key }) => key === route.listener)
  return [
    ...(listener ? listed('listener', listener.policies) : []),
    ...listed('route', route.policies),
    ...route.backends.flatMap(use => listed(`backend ${use.backend}`, use.policies)),
  ]
}

/** Each policy with its fields, their sources, and overridden ones. */
export function effectiveText(dump: DumpDocument, route: DumpRoute, paint: Paint): string {
  const policies = effectivePolicies(dump, route)
  const lines = [`${paint.bold(visible(`${route.namespace}/${route.name}`))} ${paint.dim(visible(route.origin))}`]
  if (policies.length === 0) lines.push('  no policies')
  for (const { policy, at, spec, wonBy, overridden, fields } of policies) {
    lines.push(`${paint.bold(visible(policy))} at the ${at}`)
    const merged = wonBy.length > 1 ? 'rules of all of them' : 'wins'
    for (const place of wonBy) lines.push(`  ${paint.success('✓')} ${visible(place)} ${paint.dim(merged)}`)
    for (const place of overridden)
      lines.push(`  ${paint.warning('✗')} ${visible(place)} ${paint.dim('overridden, as a whole')}`)
    lines.push(...fields.map(field => fieldText(field, paint)))
    if (spec !== undefined)
      lines.push(
        ...printYaml(spec)
          .trimEnd()
          .split('\n')
          .map(line => `    ${line}`),
      )
  }
  return `${lines.join('\n')}\n`
}

function fieldText({ name, wonBy, overridden }: EffectiveField, paint: Paint): string {
  const [field, winners, losers] = [name, wonBy.join(' + '), overridden.join(', ')].map(visible)
  if (wonBy.length === 0) return `    ${paint.warning('✗')} ${field}: lost, ${losers}`
  return `    ${paint.success('✓')} ${field}: ${winners}${losers === '' ? '' : paint.dim(` over ${losers}`)}`
}

function listed(at: string, policies: DumpPolicies): EffectivePolicy[] {
  return Object.entries(policies as Readonly<Record<string, DumpPolicies[string]>>).map(([policy, use]) => ({
    policy,
    at,
    spec: use.spec,
    wonBy: use.origins,
    overridden: use.overridden ?? [],
    fields: use.fields ?? [],
  }))
}

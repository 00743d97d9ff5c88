import { neededBy } from '../../../cel/terms/terms.ts'
import { keyOf } from '../../../diagnostics/diagnostic.ts'
import { once } from '../../../policies/parts/once.ts'
import type { Pipeline } from '../../snapshot.ts'
import type { Lint, LintedFile } from '../lint.ts'
import { rulesOf } from '../sites.ts'

/** The policies that populate each variable. */
const VERIFIERS = {
  jwt: ['jwtAuth', 'mcpAuthentication', 'oidc'],
  basicAuth: ['basicAuth'],
  apiKey: ['apiKey'],
} as const
const ROOTS = Object.keys(VERIFIERS) as (keyof typeof VERIFIERS)[]

/** GW554: a rule about a credential, or a call that forwards one, without a policy that verifies it. */
export const unverifiedClaims: Lint = file => {
  const contexts = once(() => contextsOf(file))
  unverifiedRules(file, contexts)
  unverifiedTokens(file, contexts)
}

function unverifiedRules(file: LintedFile, contextsNow: () => Context[]): void {
  const rules = file.sites.flatMap(({ policies }) =>
    (['authorization', 'mcpAuthorization'] as const).flatMap(name => {
      const policy = policies[name]
      const rules = rulesOf(policy) ?? []
      return rules.flatMap(rule => {
        const term = file.termOf(rule.when.text)
        const needed = new Set(term && neededBy(term).map(([root]) => root))
        const root = ROOTS.find(each => needed.has(each))
        return policy && root ? { policy, rules, name, rule, root } : []
      })
    }),
  )
  if (rules.length === 0) return
  const contexts = contextsNow()
  for (const { policy, rules: list, name, rule, root } of rules) {
    const path = file.pathOf(policy)
    const key = keyOf(file.document.origin(path.at(-1) === name ? path : [...path, name]))
    const places = contexts.filter(({ origins }) => origins.has(key))
    if (places.length === 0 || places.some(({ names }) => VERIFIERS[root].some(each => names.has(each)))) continue
    const effect = EFFECTS[rule.kind]
    file.report({
      code: 'GW554',
      message: `the rule reads \`${root}\`, and nothing here verifies ${WHAT[root]}: ${effect}`,
      path: [...file.pathOf(list), list.indexOf(rule)],
      at: 'value',
      label: `\`${root}\` is never set`,
      help: `add \`${VERIFIERS[root][0]}\` to the route, its listener or its gateway`,
    })
  }
}

/**
 * By default LLM providers are called with a key from the environment, so there the policy deliberately forwards the
 * client's.
 */
function unverifiedTokens(file: LintedFile, contextsNow: () => Context[]): void {
  for (const { policies } of file.sites) {
    const auth = policies.backendAuth
    if (typeof auth !== 'object' || auth.passthrough === undefined) continue
    const path = file.pathOf(auth)
    const key = keyOf(file.document.origin(path.at(-1) === 'backendAuth' ? path : [...path, 'backendAuth']))
    const places = contextsNow().filter(({ origins, llm }) => origins.has(key) && !llm)
    if (
      places.length === 0 ||
      places.some(({ names }) =>
        Object.values(VERIFIERS)
          .flat()
          .some(each => names.has(each)),
      )
    )
      continue
    file.report({
      code: 'GW554',
      message: '`passthrough` forwards the token that a policy verified, and no policy here verifies one',
      path: [...path, 'passthrough'],
      at: 'key',
      label: 'there is never a token',
      help: 'add `jwtAuth` to the route, its listener or its gateway; without `backendAuth`, what clients send goes on as it came',
    })
  }
}

const EFFECTS = { allow: 'it never allows', deny: 'it never denies', require: 'it refuses every request' } as const
const WHAT = { jwt: 'tokens', basicAuth: 'passwords', apiKey: 'API keys' } as const

interface Context {
  readonly names: ReadonlySet<string>
  readonly origins: ReadonlySet<string>
  /** The path ends at an LLM provider. */
  readonly llm: boolean
}

/** The policies that apply to a request on each path from a listener to a backend. */
function contextsOf({ snapshot }: LintedFile): Context[] {
  const out: Context[] = []
  const add = (llm: boolean, ...pipelines: readonly Pipeline[]) => {
    const steps = pipelines.flatMap(each => each.steps)
    out.push({
      names: new Set(steps.map(({ policy }) => policy)),
      origins: new Set(steps.flatMap(step => step.origins.map(keyOf))),
      llm,
    })
  }
  for (const { listeners } of snapshot.binds) {
    for (const listener of listeners) {
      for (const route of listener.routes) {
        add(false, listener.pipeline, route.pipeline)
        for (const { backend, pipeline } of route.backends)
          add(backend.protocol === 'llm', listener.pipeline, route.pipeline, pipeline)
      }
    }
  }
  return out
}

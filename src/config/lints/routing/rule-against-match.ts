import { comparisonsOf, conjuncts, type Term } from '../../../cel/terms/terms.ts'
import type { Lint } from '../lint.ts'
import { type RouteSpec, routesOf, rulesOf } from '../sites.ts'

type Match = RouteSpec['matches'][number]

/** GW570: a rule about requests that the route does not match. */
export const ruleAgainstMatch: Lint = file => {
  for (const { matches, policies } of routesOf(file.config)) {
    const rules = rulesOf(policies?.authorization) ?? []
    if (matches.length === 0) continue
    for (const [at, { when, kind }] of rules.entries()) {
      const term = file.termOf(when.text)
      if (!term || !conjuncts(term).some(each => isAgainst(each, matches))) continue
      file.report({
        code: 'GW570',
        message: `no request of this route is like this: the rule ${kind === 'require' ? 'refuses all of them' : 'never applies'}`,
        path: [...file.pathOf(rules), at],
        at: 'value',
        label: 'never true',
        help: 'correct the rule, or `matches` of the route',
        related: [{ path: file.pathOf(matches), at: 'value', message: 'what the route takes' }],
      })
    }
  }
}

function isAgainst(term: Term, matches: readonly Match[]): boolean {
  return comparisonsOf(term).some(({ path, op, literal: { value } }) => {
    if (typeof value !== 'string') return false
    const name = path.join('.')
    if (name === 'request.method')
      return op === '==' && matches.every(({ method }) => method !== undefined && method !== value)
    return (
      name === 'request.path' &&
      (op === '==' || op === 'startsWith') &&
      value.startsWith('/') &&
      matches.every(match => isElsewhere(match, value))
    )
  })
}

/** Neither contains the other. */
function isElsewhere({ path: { exact, pathPrefix } }: Match, path: string): boolean {
  const own = (exact ?? pathPrefix)?.replace(/\/+$/, '')
  return own !== undefined && !path.startsWith(own) && !own.startsWith(path)
}

import type { Lint } from '../lint.ts'
import { type RouteSpec, routesOf, rulesOf } from '../sites.ts'

type Match = RouteSpec['matches'][number]

const METHOD = /^\s*request\.method\s*==\s*["']([A-Z]+)["']\s*$/
const PATH = /^\s*request\.path(?:\s*==\s*|\.startsWith\(\s*)["'](\/[^"'\\]*)["']\s*\)?\s*$/

/** GW570: a rule about requests that the route does not take. */
export const ruleAgainstMatch: Lint = file => {
  for (const { matches, policies } of routesOf(file.config)) {
    const rules = rulesOf(policies?.authorization) ?? []
    if (matches.length === 0) continue
    for (const [at, { when, kind }] of rules.entries()) {
      const [, method] = METHOD.exec(when.text) ?? []
      const [, path] = PATH.exec(when.text) ?? []
      const never =
        (method !== undefined && matches.every(match => match.method !== undefined && match.method !== method)) ||
        (path !== undefined && matches.every(match => isElsewhere(match, path)))
      if (!never) continue
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

/** Neither is within the other. */
function isElsewhere({ path: { exact, pathPrefix } }: Match, path: string): boolean {
  const own = (exact ?? pathPrefix)?.replace(/\/+$/, '')
  return own !== undefined && !path.startsWith(own) && !own.startsWith(path)
}

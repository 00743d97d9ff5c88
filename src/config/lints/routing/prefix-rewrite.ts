import type { Lint } from '../lint.ts'
import { policiesByRoute, routesOf } from '../sites.ts'

/** GW552: a prefix rewrite where no prefix was matched. */
export const prefixRewrite: Lint = file => {
  const policiesFor = policiesByRoute(file.config)
  for (const route of routesOf(file.config)) {
    const match = route.matches.find(({ path }) => path.pathPrefix === undefined)
    if (!match) continue
    for (const policies of [route.policies ?? {}, ...policiesFor(route)]) {
      const path = policies.urlRewrite?.path ?? policies.requestRedirect?.path
      if (path?.prefix === undefined) continue
      const form = match.path.exact === undefined ? 'regex' : 'exact'
      file.report({
        code: 'GW552',
        message: `requests that match by \`${form}\` get 500: there is no matched prefix to replace`,
        path: [...file.pathOf(path), 'prefix'],
        at: 'value',
        label: 'replaces the prefix that the route matched',
        help: `replace the whole path with \`full\`, or match with \`pathPrefix\``,
        related: [{ path: [...file.pathOf(match.path), form], at: 'value', message: 'this match has no prefix' }],
      })
    }
  }
}

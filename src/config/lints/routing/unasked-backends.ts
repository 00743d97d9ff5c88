import type { Lint } from '../lint.ts'
import { type RouteSpec, routesOf } from '../sites.ts'

/** GW537: backends behind a policy that answers by itself. GW538: a route without a backend or response. */
export const unaskedBackends: Lint = file => {
  const targeted = file.config.policies.some(({ policy }) => policy.directResponse || policy.requestRedirect)
  for (const { policies, backends, ...route } of routesOf(file.config)) {
    const direct = policies?.directResponse
    const answer = policies && answers(policies)
    if (answer !== undefined && backends.length > 0) {
      file.report({
        code: 'GW537',
        message: `\`${answer}\` answers every request: these backends are never asked`,
        path: file.pathOf(backends),
        at: 'key',
        label: 'never asked',
        help: 'remove them, or the policy',
        related: [{ path: [...file.pathOf(policies!), answer], at: 'key', message: 'answers here' }],
      })
    } else if (answer === undefined && backends.length === 0 && !direct && !targeted) {
      const path = file.pathOf(backends).slice(0, -1)
      file.report({
        code: 'GW538',
        message: `the route${route.name === undefined ? '' : ` \`${route.name}\``} has no backend: every request gets 500`,
        path,
        at: 'value',
        label: 'nothing answers',
        help: 'add `backends`, or `policies.directResponse` or `requestRedirect`',
      })
    }
  }
}

/** The policy of a route that answers every request, if any. */
export function answers({
  requestRedirect,
  directResponse,
}: NonNullable<RouteSpec['policies']>): 'requestRedirect' | 'directResponse' | undefined {
  if (requestRedirect) return 'requestRedirect'
  return directResponse && always(directResponse) ? 'directResponse' : undefined
}

function always({ conditional }: { readonly conditional?: readonly { readonly condition?: unknown }[] }): boolean {
  return conditional === undefined || conditional.some(entry => entry.condition === undefined)
}

import type { Lint, Policies } from '../lint.ts'
import { kindsByRoute, policiesByRoute, routesOf } from '../sites.ts'

type Cors = NonNullable<Policies['cors']>

/** GW513: a CORS policy under which browsers cannot keep an MCP session. */
export const corsForMcp: Lint = file => {
  const all: (Cors | undefined)[] = [file.config.mcp?.policies?.cors]
  const kindsBehind = kindsByRoute(file.config)
  const policiesFor = policiesByRoute(file.config)
  for (const route of routesOf(file.config)) {
    if (!kindsBehind(route).includes('mcp')) continue
    all.push(route.policies?.cors, ...policiesFor(route).map(({ cors }) => cors))
  }
  for (const cors of new Set(all)) {
    if (!cors) continue
    const exposed = cors.exposeHeaders.map(name => name.toLowerCase())
    if (exposed.includes('mcp-session-id') || (exposed.includes('*') && !cors.allowCredentials)) continue
    const written = exposed.length > 0
    file.report({
      code: 'GW513',
      message: 'pages cannot read `mcp-session-id`, so MCP clients in browsers lose their session',
      path: written ? [...file.pathOf(cors), 'exposeHeaders'] : file.pathOf(cors),
      at: written ? 'value' : 'key',
      label: '`mcp-session-id` is not exposed',
      help: 'add `exposeHeaders: [mcp-session-id]`',
      ...(written
        ? {
            fix: {
              title: 'expose `mcp-session-id`',
              safe: false,
              replace: 'value' as const,
              with: `[${[...cors.exposeHeaders, 'mcp-session-id'].join(', ')}]`,
            },
          }
        : {}),
    })
  }
}

/** GW514: any web page can act on behalf of its visitor. */
export const corsForAll: Lint = file => {
  for (const { policies } of file.sites) {
    const { cors } = policies
    if (!cors?.allowCredentials || !cors.allowOrigins.includes('*')) continue
    file.report({
      code: 'GW514',
      message: 'pages of any origin may send requests with the cookies of their visitors',
      path: [...file.pathOf(cors.allowOrigins), cors.allowOrigins.indexOf('*')],
      at: 'value',
      label: 'any origin, with credentials',
      help: 'name the origins, or remove `allowCredentials`',
    })
  }
}

/** GW576: a CORS policy on a route that receives no preflights. */
export const corsWithoutPreflight: Lint = file => {
  const routes = routesOf(file.config)
  // Another route may answer them.
  if (routes.some(({ matches, policies }) => policies?.cors && matches.some(takesPreflights))) return
  for (const { matches, policies } of routes) {
    const cors = policies?.cors
    if (!cors || matches.length === 0 || matches.some(takesPreflights)) continue
    // Simple requests have no preflight, and the rest of the policy concerns those.
    if (cors.allowMethods.length === 0 && cors.allowHeaders.length === 0 && cors.maxAge === undefined) continue
    file.report({
      code: 'GW576',
      message: `preflights come with OPTIONS, and the route takes ${matches[0]!.method} only: browsers will not send the request`,
      path: [...file.pathOf(matches[0]!), 'method'],
      at: 'value',
      label: 'no preflight passes',
      help: 'remove `method`, or add a match with `method: OPTIONS`',
      related: [{ path: file.pathOf(cors), at: 'key', message: 'never asked' }],
    })
  }
}

function takesPreflights({ method }: { readonly method?: string }): boolean {
  return method === undefined || method === 'OPTIONS'
}

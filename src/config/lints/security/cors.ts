import type { Lint, Policies } from '../lint.ts'
import { kindsByRoute, policiesByRoute, routesOf } from '../sites.ts'

type Cors = NonNullable<Policies['cors']>

/** GW513: browsers that cannot keep an MCP session. */
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

/** GW514: every page of the web acts in the name of who looks at it. */
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

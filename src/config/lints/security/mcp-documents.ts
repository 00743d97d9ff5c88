import { resourceDocument, serverDocument } from '../../../mcp/oauth-documents.ts'
import type { Lint, Policies } from '../lint.ts'
import { type RouteSpec, routesOf, takesPath } from '../sites.ts'

type Authentication = NonNullable<Policies['mcpAuthentication']>

/** GW593: an MCP endpoint that sends clients to documents which no route serves. */
export const mcpDocuments: Lint = file => {
  const routes = routesOf(file.config)
  const guarded = routes.flatMap(route => {
    const authentication = (route.policies as Policies | undefined)?.mcpAuthentication
    return authentication ? [{ route, authentication }] : []
  })
  for (const { route, authentication } of guarded) {
    const missing = endpointsOf(route)
      .flatMap(endpoint => documentsOf(authentication, endpoint))
      .find(document => !routes.some(each => takesPath(each, document)))
    if (missing === undefined) continue
    file.report({
      code: 'GW593',
      message: `no route takes \`${missing}\`, where MCP clients look up how to sign in`,
      path: file.pathOf(authentication),
      at: 'key',
      label: 'clients cannot find the sign-in page',
      help: `add a match for \`${missing}\` to this route`,
    })
  }
}

/** Patterns are not analysed. */
function endpointsOf({ matches }: RouteSpec): string[] {
  return matches.flatMap(({ path }) => {
    const endpoint = 'exact' in path ? path.exact : 'pathPrefix' in path ? path.pathPrefix : undefined
    return endpoint === undefined || endpoint.startsWith('/.well-known/') ? [] : [endpoint.replace(/\/$/, '')]
  })
}

/** Clients ask for the second one only if the gateway stands for the issuer. */
function documentsOf({ provider, clientId, clientSecret }: Authentication, endpoint: string): string[] {
  const stands = provider !== undefined || clientId !== undefined || clientSecret !== undefined
  return [resourceDocument('', endpoint), ...(stands ? [serverDocument('', endpoint)] : [])]
}

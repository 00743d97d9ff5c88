import { askedPaths, FORMAT_NAMES, type FormatName } from './formats/format.ts'

/** How the gateway handles a request to an LLM backend (spec "BackendAI", RouteType). */
export type RouteType = FormatName | 'models' | 'passthrough' | 'detect'
export const ROUTE_TYPES: readonly RouteType[] = [...FORMAT_NAMES, 'models', 'passthrough', 'detect']

/** Keys are path suffixes, or `*` for every path. */
export type RouteMap = Readonly<Record<string, RouteType>>
/** Maps the request's path, including the query, to its route type. */
export type RouteSelector = (path: string) => RouteType

/** The routes of a listener of the `llm` section. */
export const DEFAULT_ROUTES: RouteMap = {
  ...askedPaths(),
  '/v1/responses/compact': 'detect',
  '/v1/images/generations': 'detect',
  '/v1/images/edits': 'detect',
  '/v1/images/variations': 'detect',
  '*': 'passthrough',
}

/** The longest matching suffix wins, `*` comes last; without a match, a request is a chat completion. */
export function compileRoutes(routes: RouteMap | undefined): RouteSelector {
  if (routes === undefined) return () => 'completions'
  const suffixes = Object.keys(routes)
    .filter(suffix => suffix !== '*')
    .sort((a, b) => b.length - a.length)
    .map(suffix => [suffix, routes[suffix] as RouteType] as const)
  const rest = routes['*'] ?? 'completions'
  return path => {
    const query = path.indexOf('?')
    const bare = query < 0 ? path : path.slice(0, query)
    for (const [suffix, type] of suffixes) if (bare.endsWith(suffix)) return type
    return rest
  }
}

/** What the gateway does with a request on an LLM backend (spec "BackendAI", RouteType). */
export const ROUTE_TYPES = [
  'completions',
  'messages',
  'models',
  'passthrough',
  'detect',
  'responses',
  'anthropicTokenCount',
  'embeddings',
  'realtime',
  'generateContent',
  'geminiCountTokens',
  'rerank',
] as const
export type RouteType = (typeof ROUTE_TYPES)[number]

/** Path suffix, or `*` for every path. */
export type RouteMap = Readonly<Record<string, RouteType>>
/** The request's path, query included, to its route type. */
export type RouteSelector = (path: string) => RouteType

/** What a listener of the `llm` section serves. */
export const DEFAULT_ROUTES: RouteMap = {
  '/v1/chat/completions': 'completions',
  '/v1/messages': 'messages',
  '/v1/messages/count_tokens': 'anthropicTokenCount',
  ':rawPredict': 'messages',
  ':streamRawPredict': 'messages',
  ':generateContent': 'generateContent',
  ':streamGenerateContent': 'generateContent',
  ':countTokens': 'geminiCountTokens',
  '/v1/responses': 'responses',
  '/v1/responses/compact': 'detect',
  '/v1/images/generations': 'detect',
  '/v1/images/edits': 'detect',
  '/v1/images/variations': 'detect',
  '/v1/embeddings': 'embeddings',
  '/v1/rerank': 'rerank',
  '/v2/rerank': 'rerank',
  '/v1/realtime': 'realtime',
  '*': 'passthrough',
}

/** The longest suffix that fits wins, `*` comes last; without any, a request is a chat completion. */
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

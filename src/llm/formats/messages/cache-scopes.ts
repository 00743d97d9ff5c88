/** Removes the scope of each cache point, for servers that do not support it. */
export function withoutCacheScopes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutCacheScopes)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      if (name !== 'cache_control' || typeof each !== 'object' || each === null) return [name, withoutCacheScopes(each)]
      const { scope: _, ...rest } = each as Record<string, unknown>
      return [name, rest]
    }),
  )
}

import type { Exchange, McpItem } from '../http/exchange.ts'

export function isAllowed(x: Exchange, item: McpItem): boolean {
  for (const rules of x.mcpRules) if (!rules.allows(x, item)) return false
  return true
}

/** The error for a forbidden item: the same as for a nonexistent one. */
export function unknownItem(kind: McpItem['kind'], clientName: string): string {
  return `Unknown ${kind}: ${clientName.slice(0, 256)}`
}

import type { Exchange, McpItem } from '../http/exchange.ts'

export function isAllowed(x: Exchange, item: McpItem): boolean {
  for (const rules of x.mcpRules) if (!rules.allows(x, item)) return false
  return true
}

/** The answer to a use of what is not allowed: the same as for what does not exist. */
export function unknownItem(kind: McpItem['kind'], clientName: string): string {
  return `Unknown ${kind}: ${clientName.slice(0, 256)}`
}

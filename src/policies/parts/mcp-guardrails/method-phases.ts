export type GuardedPhase = 'off' | 'request' | 'response' | 'full'

/** Whether the pattern is valid: exact, `prefix*`, `*suffix` or `*`. */
export function isMethodPattern(pattern: string): boolean {
  const star = pattern.indexOf('*')
  const last = pattern.lastIndexOf('*')
  return pattern.length > 0 && (star < 0 || (star === last && (star === 0 || star === pattern.length - 1)))
}

/**
 * The most specific pattern decides: exact, then prefix, then suffix, then `*`; among equals, the longer one. A method
 * that matches none is not inspected.
 */
export function phaseFor(method: string, patterns: Readonly<Record<string, GuardedPhase>>): GuardedPhase {
  let best: { readonly rank: number; readonly length: number; readonly phase: GuardedPhase } | undefined
  for (const [pattern, phase] of Object.entries(patterns)) {
    const rank = rankOf(pattern, method)
    if (rank === 0) continue
    if (best && (best.rank > rank || (best.rank === rank && best.length >= pattern.length))) continue
    best = { rank, length: pattern.length, phase }
  }
  return best?.phase ?? 'off'
}

function rankOf(pattern: string, method: string): number {
  if (pattern === method) return 4
  if (!isMethodPattern(pattern)) return 0
  if (pattern === '*') return 1
  if (pattern.endsWith('*') && method.startsWith(pattern.slice(0, -1))) return 3
  return pattern.startsWith('*') && method.endsWith(pattern.slice(1)) ? 2 : 0
}

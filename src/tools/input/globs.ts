/** A glob that tests paths with `/`: `*`, `?`, `[a-z]`, `{a,b}` and `**` for any number of directories. */
export type Glob = (path: string) => boolean

export function isGlob(text: string): boolean {
  return /[*?[{]/.test(text)
}

export function parseGlob(pattern: string): Glob {
  const alternatives = expandBraces(pattern).map(each => each.split('/').filter((part, i) => part !== '' || i === 0))
  return path => {
    const parts = path.split('/')
    return alternatives.some(alternative => matchParts(alternative, parts))
  }
}

/** The directory where a walk for the glob starts: everything before the first part with a wildcard. */
export function globRoot(pattern: string): string {
  const parts = pattern.split('/')
  const first = parts.findIndex(isGlob)
  const fixed = parts.slice(0, first === -1 ? parts.length - 1 : first).join('/')
  return fixed === '' ? (pattern.startsWith('/') ? '/' : '.') : fixed
}

const MAX_ALTERNATIVES = 256

function expandBraces(pattern: string): string[] {
  const done: string[] = []
  const open = [pattern]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const group = /\{([^{}]*)\}/.exec(next)
    if (group === null || done.length + open.length > MAX_ALTERNATIVES) {
      done.push(next)
      continue
    }
    const [whole, inner = ''] = group
    const before = next.slice(0, group.index)
    const after = next.slice(group.index + whole.length)
    for (const choice of inner.split(',')) open.push(before + choice + after)
  }
  return done
}

/** Examines each pair of positions once, so the time is bounded by pattern length times path length. */
function matchParts(pattern: readonly string[], parts: readonly string[]): boolean {
  let reachable = new Set([0])
  for (const part of pattern) {
    const next = new Set<number>()
    for (const at of reachable) {
      if (part === '**') for (let i = at; i <= parts.length; i++) next.add(i)
      else if (at < parts.length && matchPart(part, parts[at]!)) next.add(at + 1)
    }
    reachable = next
  }
  return reachable.has(parts.length)
}

/** Greedy with a single backtracking point: the last `*`. */
function matchPart(pattern: string, text: string): boolean {
  if (text.startsWith('.') && !pattern.startsWith('.')) return false
  let p = 0
  let star = -1
  let resume = 0
  for (let t = 0; t < text.length; ) {
    if (pattern[p] === '*') {
      star = p++
      resume = t
      continue
    }
    const width = matchChar(pattern, p, text[t]!)
    if (width > 0) {
      p += width
      t++
    } else if (star >= 0) {
      p = star + 1
      t = ++resume
    } else return false
  }
  while (pattern[p] === '*') p++
  return p >= pattern.length
}

/** The length of the pattern element that matches this character; 0 if it does not match. */
function matchChar(pattern: string, at: number, char: string): number {
  const symbol = pattern[at]
  if (symbol === '?') return 1
  if (symbol === '\\' && at + 1 < pattern.length) return pattern[at + 1] === char ? 2 : 0
  const close = symbol === '[' ? pattern.indexOf(']', at + 2) : -1
  if (close < 0) return symbol === char ? 1 : 0
  const negated = pattern[at + 1] === '!' || pattern[at + 1] === '^'
  const inside = inClass(pattern.slice(at + (negated ? 2 : 1), close), char)
  return inside !== negated ? close + 1 - at : 0
}

function inClass(members: string, char: string): boolean {
  for (let i = 0; i < members.length; i++) {
    if (members[i + 1] === '-' && i + 2 < members.length) {
      if (members[i]! <= char && char <= members[i + 2]!) return true
      i += 2
    } else if (members[i] === char) return true
  }
  return false
}

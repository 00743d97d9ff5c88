/** Whether some host matches both patterns; `*.` stands for one or more labels, undefined for every host. */
export function hostsMeet(a: string | undefined, b: string | undefined): boolean {
  if (!a || !b || a === '*' || b === '*') return true
  const [x, y] = [a.toLowerCase(), b.toLowerCase()]
  if (x === y) return true
  if (x.startsWith('*.') && y.startsWith('*.')) return x.endsWith(y.slice(1)) || y.endsWith(x.slice(1))
  if (x.startsWith('*.')) return y.endsWith(x.slice(1)) && y.length > x.length - 1
  return y.startsWith('*.') && x.endsWith(y.slice(1)) && x.length > y.length - 1
}

/** The narrower of two overlapping patterns. */
function narrower(a: string, b: string): string {
  if (!b || b === '*') return a
  if (!a || a === '*') return b
  if (a.startsWith('*.') && !b.startsWith('*.')) return b
  if (b.startsWith('*.') && !a.startsWith('*.')) return a
  return a.length >= b.length ? a : b
}

/** Hosts that both lists serve; empty lists serve all. Undefined for none. */
export function commonHosts(a: readonly string[], b: readonly string[]): readonly string[] | undefined {
  if (a.length === 0) return b
  if (b.length === 0) return a
  const common = a.flatMap(x => b.filter(y => hostsMeet(x, y)).map(y => narrower(x, y)))
  return common.length === 0 ? undefined : [...new Set(common)]
}

/**
 * The candidates that a misspelt word most likely means, best first; several only if they are equally close. A
 * candidate matches if it differs by at most 2 edits or a third of the word's length, or only in case and separators.
 * Short words are all close to each other (`host` and `port`), so up to five letters the limit is 1 edit, and a single
 * letter matches nothing.
 */
export function closest(word: string, candidates: Iterable<string>): string[] {
  const limit = word.length <= 1 ? 0 : word.length <= 5 ? 1 : Math.max(2, Math.floor(word.length / 3))
  const plain = fold(word)
  let best = limit
  let found: string[] = []
  for (const candidate of candidates) {
    if (candidate === word) continue
    const distance = fold(candidate) === plain ? 0 : editDistance(word, candidate, best)
    if (distance > best) continue
    if (distance < best) found = []
    best = distance
    if (!found.includes(candidate)) found.push(candidate)
  }
  return found
}

/** `did you mean \`host\`?`, or undefined if nothing is close. Names at most three candidates. */
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined {
  const found = closest(word, candidates).slice(0, 3)
  if (found.length === 0) return undefined
  const names = found.map(name => `\`${name}\``)
  const last = names.pop()
  return names.length === 0 ? `did you mean ${last}?` : `did you mean ${names.join(', ')} or ${last}?`
}

function fold(word: string): string {
  return word.replace(/[-_. ]/g, '').toLowerCase()
}

/** Optimal string alignment distance (a swap of neighbors is one edit); `limit + 1` once it exceeds `limit`. */
export function editDistance(a: string, b: string, limit = Number.POSITIVE_INFINITY): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let lowest = i
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, beforeLast[j - 2]! + 1)
      row.push(cost)
      if (cost < lowest) lowest = cost
    }
    if (lowest > limit) return limit + 1
    beforeLast = last
    last = row
  }
  return last[b.length]!
}

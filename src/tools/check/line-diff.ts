/** A line of a diff: in both texts, only in the first, or only in the second. */
export interface DiffLine {
  readonly side: 'both' | 'left' | 'right'
  readonly text: string
}

/**
 * The limit on pairs of lines, which the exact algorithm is quadratic in. Beyond it, lines that are unique in both
 * texts serve as anchors; a section without anchors is shown as replaced.
 */
const MAX_PAIRS = 1_000_000

/** The shortest edit script between two lists of lines. */
export function diffLines(left: readonly string[], right: readonly string[]): readonly DiffLine[] {
  let head = 0
  while (head < left.length && head < right.length && left[head] === right[head]) head++
  let tail = 0
  while (tail < Math.min(left.length, right.length) - head && left.at(-1 - tail) === right.at(-1 - tail)) tail++
  const both = (text: string): DiffLine => ({ side: 'both', text })
  return [
    ...left.slice(0, head).map(both),
    ...diffMiddle(left.slice(head, left.length - tail), right.slice(head, right.length - tail)),
    ...left.slice(left.length - tail).map(both),
  ]
}

function diffMiddle(left: readonly string[], right: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ side: 'left', text })
  const added = (text: string): DiffLine => ({ side: 'right', text })
  if (left.length * right.length > MAX_PAIRS) {
    const anchors = commonAnchors(left, right)
    if (anchors.length === 0) return [...left.map(removed), ...right.map(added)]
    const parts: (readonly DiffLine[])[] = []
    let [i, j] = [0, 0]
    for (const [atLeft, atRight] of [...anchors, [left.length, right.length] as const]) {
      parts.push(diffLines(left.slice(i, atLeft), right.slice(j, atRight)))
      if (atLeft < left.length) parts.push([{ side: 'both', text: left[atLeft] as string }])
      ;[i, j] = [atLeft + 1, atRight + 1]
    }
    return parts.flat()
  }
  // common[i][j]: the length of the longest common subsequence of the rests from i and j.
  const common = Array.from({ length: left.length + 1 }, () => new Uint32Array(right.length + 1))
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      common[i]![j] =
        left[i] === right[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!)
    }
  }
  const out: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      out.push({ side: 'both', text: left[i] as string })
      i++
      j++
    } else if (j === right.length || (i < left.length && common[i + 1]![j]! >= common[i]![j + 1]!)) {
      out.push(removed(left[i++] as string))
    } else out.push(added(right[j++] as string))
  }
  return out
}

/** Of the lines that are unique in both texts, the longest sequence in the same order: indexes, ascending. */
function commonAnchors(left: readonly string[], right: readonly string[]): (readonly [number, number])[] {
  const atRight = uniqueLines(right)
  const pairs = [...uniqueLines(left)].flatMap(([text, i]) => {
    const j = atRight.get(text)
    return j === undefined ? [] : [{ i, j }]
  })
  // The longest increasing subsequence: `ends[k]` is the pair with the smallest end of a sequence of length k + 1.
  const ends: number[] = []
  const before = pairs.map(({ j }, at) => {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (pairs[ends[middle]!]!.j < j) low = middle + 1
      else high = middle
    }
    ends[low] = at
    return low === 0 ? -1 : ends[low - 1]!
  })
  const chain: (readonly [number, number])[] = []
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at]!) chain.push([pairs[at]!.i, pairs[at]!.j])
  return chain.reverse()
}

/** In order of occurrence. */
function uniqueLines(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return new Map(lines.flatMap((line, i): [string, number][] => (counts.get(line) === 1 ? [[line, i]] : [])))
}

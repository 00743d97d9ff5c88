/** A line of two texts put side by side: in both, only in the first, only in the second. */
export interface DiffLine {
  readonly side: 'both' | 'left' | 'right'
  readonly text: string
}

/** Beyond this many pairs of lines the middle is shown as replaced: nobody reads it, and it costs their product. */
const MOST_PAIRS = 1_000_000

/** The shortest way from one list of lines to the other. */
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
  if (left.length * right.length > MOST_PAIRS) return [...left.map(removed), ...right.map(added)]
  // common[i][j]: how many lines the rests from i and from j have in common.
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

/** Lines of context around a change. */
const CONTEXT = 3

interface Step {
  readonly kind: ' ' | '-' | '+'
  readonly line: string
  readonly before: number
  readonly after: number
}

export interface UnifiedDiff {
  /** Empty if the texts are equal. */
  readonly text: string
  /** Some lines are masked, so it cannot be applied as a patch. */
  readonly concealed: boolean
}

/** A unified diff of both texts, with lines masked by `conceal`. The name is shown as it is. */
export function unifiedDiff(
  name: string,
  before: string,
  after: string,
  conceal: (text: string) => string = text => text,
): UnifiedDiff {
  if (before === after) return { text: '', concealed: false }
  const script = [...editScript(splitLines(before), splitLines(after))]
  const steps = shownSteps(script, splitLines(conceal(before)), splitLines(conceal(after)))
  const hunks: string[] = []
  let concealed = false
  for (let i = 0; i < steps.length; ) {
    const first = steps.findIndex((step, at) => at >= i && step.kind !== ' ')
    if (first < 0) break
    const from = Math.max(i, first - CONTEXT)
    let to = first + 1
    for (let quiet = 0; to < steps.length && quiet < 2 * CONTEXT + 1; to++) {
      quiet = steps[to]!.kind === ' ' ? quiet + 1 : 0
    }
    const last = steps.findLastIndex((step, at) => at < to && step.kind !== ' ')
    to = Math.min(steps.length, last + 1 + CONTEXT)
    hunks.push(hunk(steps.slice(from, to)))
    concealed ||= steps.slice(from, to).some(({ line }, at) => line !== script[from + at]!.line)
    i = to
  }
  return { text: `--- ${name}\n+++ ${name}\n${hunks.join('')}`, concealed }
}

/** A common line shows no more than either side does. */
function shownSteps(script: readonly Step[], before: readonly string[], after: readonly string[]): Step[] {
  return script.map(step => {
    const [old, now] = [before[step.before]!, after[step.after]!]
    return { ...step, line: step.kind === '+' || (step.kind === ' ' && old === step.line) ? now : old }
  })
}

function hunk(steps: readonly Step[]): string {
  const [first] = steps
  const range = (start: number, skip: '-' | '+'): string => {
    const count = steps.filter(step => step.kind !== skip).length
    return `${count === 0 ? start : start + 1}${count === 1 ? '' : `,${count}`}`
  }
  const body = steps.map(({ kind, line }) =>
    line.endsWith('\n') ? `${kind}${line}` : `${kind}${line}\n\\ No newline at end of file\n`,
  )
  return `@@ -${range(first!.before, '+')} +${range(first!.after, '-')} @@\n${body.join('')}`
}

/** Keeps line breaks, including lone carriage returns. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

/** Myers' greedy algorithm: time and memory are proportional to lines times differences. */
function* editScript(a: readonly string[], b: readonly string[]): Generator<Step> {
  const trace: Map<number, number>[] = []
  let furthest = new Map([[1, 0]])
  search: for (let d = 0; d <= a.length + b.length; d++) {
    trace.push(new Map(furthest))
    const next = new Map(furthest)
    for (let k = -d; k <= d; k += 2) {
      let x = stepsDown(furthest, k, d) ? furthest.get(k + 1)! : furthest.get(k - 1)! + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++
      next.set(k, x)
      if (x >= a.length && x - k >= b.length) break search
    }
    furthest = next
  }
  yield* backtrack(trace, a, b).reverse()
}

function stepsDown(furthest: ReadonlyMap<number, number>, k: number, d: number): boolean {
  return k === -d || (k !== d && (furthest.get(k - 1) ?? -1) < (furthest.get(k + 1) ?? -1))
}

function backtrack(trace: readonly Map<number, number>[], a: readonly string[], b: readonly string[]): Step[] {
  const steps: Step[] = []
  let x = a.length
  let y = b.length
  for (let d = trace.length - 1; d >= 0; d--) {
    const furthest = trace[d]!
    const k = x - y
    const from = stepsDown(furthest, k, d) ? k + 1 : k - 1
    const fromX = furthest.get(from) ?? 0
    const fromY = fromX - from
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      x--
      y--
      steps.push({ kind: ' ', line: a[x]!, before: x, after: y })
    }
    if (d === 0) break
    if (x === fromX) steps.push({ kind: '+', line: b[--y]!, before: x, after: y })
    else steps.push({ kind: '-', line: a[--x]!, before: x, after: y })
  }
  return steps
}

import {
  ALT,
  ALT_MATCH,
  CAPTURE,
  EMPTY_WIDTH,
  type Instruction,
  isReader,
  MATCH,
  NOP,
  type Program,
  RUNE_ANY,
  RUNE_ANY_NOT_NL,
  reads,
} from './program.ts'

// Text that any match of a pattern must contain, as an expression that the platform's own engine finds in linear time.

/** Maximum characters per alternative, and maximum alternatives: each position costs at most their product. */
const LONGEST = 16
const MAX_WAYS = 16
/** Maximum instructions of a program that is searched for necessary ones, which takes quadratic time. */
const LARGEST = 400

/** A path through the program: its character classes, and the instruction after them. */
interface Way {
  readonly classes: readonly string[]
  /** The approximate probability that a text contains it. */
  readonly chance: number
  /** Undefined if the path ends here. */
  readonly pc: number | undefined
}

interface Found {
  readonly source: string
  readonly chance: number
}

/** The source of a regular expression without unbounded repetition; undefined if no necessary text is known. */
export function necessaryText({ inst, start }: Program): string | undefined {
  const found: Found[] = []
  const begin = startingAt(inst, start, true)
  if (begin) found.push(begin)
  if (inst.length <= LARGEST) {
    for (const [pc, { op }] of inst.entries()) {
      if (!isReader(op) || matchesWithout(inst, start, pc)) continue
      const middle = startingAt(inst, pc, false)
      if (middle) found.push(middle)
    }
  }
  found.sort((a, b) => a.chance - b.chance)
  return found[0]?.source
}

/** The text at the beginning of every match (`first`), or from an instruction that every match passes. */
function startingAt(inst: readonly Instruction[], pc: number, first: boolean): Found | undefined {
  let ways: Way[] = [{ classes: [], chance: 1, pc }]
  for (let length = 0; length < LONGEST; length++) {
    const longer = ways.flatMap(way => goOn(inst, way, first && length === 0))
    if (longer.length > MAX_WAYS) break
    ways = longer
  }
  if (ways.length === 0 || ways.some(({ classes }) => classes.length === 0)) return undefined
  const sources = new Set(ways.map(({ classes }) => sourceOf(classes)))
  return { source: [...sources].join('|'), chance: ways.reduce((sum, { chance }) => sum + chance, 0) }
}

/** Extends a path by one character. `begin`: an empty match does not count. */
function goOn(inst: readonly Instruction[], way: Way, begin: boolean): readonly Way[] {
  if (way.pc === undefined) return [way]
  const { readers, ends } = after(inst, way.pc)
  const ways: Way[] = ends && !begin ? [{ ...way, pc: undefined }] : []
  const seen = new Set<string>()
  for (const reader of readers) {
    const each = inst[reader] as Instruction
    const { source, chance, wide } = classOf(each)
    // A character beyond the basic plane is two units: what follows it is unknown.
    const pc = wide ? undefined : each.out
    const key = `${source} ${pc}`
    if (seen.has(key)) continue
    seen.add(key)
    ways.push({ classes: [...way.classes, source], chance: way.chance * chance, pc })
  }
  return ways
}

/** The instructions that read the next character, and whether a match may end before it. */
function after(inst: readonly Instruction[], pc: number): { readers: readonly number[]; ends: boolean } {
  const readers: number[] = []
  let ends = false
  const visited = new Set<number>()
  const stack = [pc]
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (visited.has(next)) continue
    visited.add(next)
    const { op, out, arg } = inst[next] as Instruction
    if (op === ALT || op === ALT_MATCH) stack.push(arg, out)
    else if (op === CAPTURE || op === NOP || op === EMPTY_WIDTH) stack.push(out)
    else if (op === MATCH) ends = true
    else if (isReader(op)) readers.push(next)
  }
  return { readers, ends }
}

function matchesWithout(inst: readonly Instruction[], start: number, without: number): boolean {
  const visited = new Set<number>([without])
  const stack = [start]
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (visited.has(next)) continue
    visited.add(next)
    const { op, out, arg } = inst[next] as Instruction
    if (op === MATCH) return true
    if (op === ALT || op === ALT_MATCH) stack.push(arg, out)
    else if (isReader(op) || op === CAPTURE || op === NOP || op === EMPTY_WIDTH) stack.push(out)
  }
  return false
}

/** A superset of the characters that an instruction reads: those beyond ASCII count as one. */
function classOf(each: Instruction): { source: string; chance: number; wide: boolean } {
  let source = ''
  let chance = 0
  for (let rune = 0; rune < 0x80; rune++) {
    if (!reads(each, rune)) continue
    source += `\\x${rune.toString(16).padStart(2, '0')}`
    chance += chanceOf(rune)
  }
  const wide = each.op === RUNE_ANY || each.op === RUNE_ANY_NOT_NL || each.runes.some(rune => rune >= 0x80)
  if (wide) return { source: `${source}\\u0080-\\uffff`, chance: chance + 0.05, wide }
  for (const [rune, name] of ALIKE) if (reads(each, rune)) source += name
  return { source, chance, wide }
}

/** Case-insensitively, the Kelvin sign matches `k`, and the long s `s`. */
const ALIKE = [
  [0x212a, '\\u212a'],
  [0x17f, '\\u017f'],
] as const

function chanceOf(rune: number): number {
  const c = String.fromCharCode(rune)
  if (c === ' ') return 0.15
  if (/[a-z]/.test(c)) return 0.03
  return /[A-Z]/.test(c) ? 0.004 : /[0-9]/.test(c) ? 0.01 : 0.005
}

function sourceOf(classes: readonly string[]): string {
  let source = ''
  for (let i = 0; i < classes.length; ) {
    let count = 1
    while (classes[i + count] === classes[i]) count++
    source += `[${classes[i]}]${count === 1 ? '' : `{${count}}`}`
    i += count
  }
  return source
}

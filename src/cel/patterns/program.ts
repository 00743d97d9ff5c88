/** The used parts of a compiled pattern: the instructions of RE2's automaton. */
export interface Program {
  readonly start: number
  readonly inst: readonly Instruction[]
}
export interface Instruction {
  readonly op: number
  readonly out: number
  readonly arg: number
  /** For an instruction that reads specific characters: the characters, or ranges. */
  readonly runes: readonly number[]
  matchRune(rune: number): boolean
}

/** RE2 opcodes. */
export const ALT = 1
export const ALT_MATCH = 2
export const CAPTURE = 3
export const EMPTY_WIDTH = 4
export const MATCH = 6
export const NOP = 7
const RUNE = 8
const RUNE1 = 9
export const RUNE_ANY = 10
export const RUNE_ANY_NOT_NL = 11

export function isReader(op: number): boolean {
  return op >= RUNE && op <= RUNE_ANY_NOT_NL
}

export function reads(each: Instruction, rune: number): boolean {
  switch (each.op) {
    case RUNE:
    case RUNE1:
      return each.matchRune(rune)
    case RUNE_ANY:
      return true
    case RUNE_ANY_NOT_NL:
      return rune !== 0x0a
    default:
      return false
  }
}

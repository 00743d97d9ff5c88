import {
  ALT,
  ALT_MATCH,
  CAPTURE,
  EMPTY_WIDTH,
  type Instruction,
  isReader,
  NOP,
  type Program,
  reads,
} from './program.ts'

// Which part of an incomplete text may still become a match.

/** Conditions of EMPTY_WIDTH. */
const BEGIN_LINE = 1
const END_LINE = 2
const BEGIN_TEXT = 4
// 8, the end of the text, never occurs in an incomplete text.
const WORD_BOUNDARY = 16
const NO_WORD_BOUNDARY = 32

const NONE = -1

/**
 * Runs a pattern's automaton over text that arrives in pieces and tracks the earliest position where an undecided match
 * may begin. Takes time linear in the text, whatever the pattern.
 */
export class OpenMatches {
  readonly #inst: readonly Instruction[]
  readonly #start: number
  /** Live instructions after the text so far, and where their match began: the earliest first. */
  #pcs: number[] = []
  #from: number[] = []
  #nextPcs: number[] = []
  #nextFrom: number[] = []
  readonly #stack: number[] = []
  /** By instruction: the last step in which it was visited, and in which it was queued. */
  readonly #visited: Int32Array
  readonly #queued: Int32Array
  #stamp = 0
  #at = 0
  #before = NONE
  /** The first half of a surrogate pair. */
  #half = ''

  constructor({ inst, start }: Program) {
    this.#inst = inst
    this.#start = start
    this.#visited = new Int32Array(inst.length)
    this.#queued = new Int32Array(inst.length)
  }

  push(text: string): void {
    const whole = this.#half + text
    this.#half = ''
    for (let i = 0; i < whole.length; ) {
      const rune = whole.codePointAt(i) as number
      if (rune >= 0xd800 && rune < 0xdc00 && i === whole.length - 1) {
        this.#half = whole[i] as string
        return
      }
      const size = rune > 0xffff ? 2 : 1
      this.#step(rune, size)
      i += size
    }
  }

  /** No match begins before `at`. */
  forget(at: number): void {
    const keep = this.#from.findIndex(from => from >= at)
    const gone = keep < 0 ? this.#from.length : keep
    this.#from.splice(0, gone)
    this.#pcs.splice(0, gone)
  }

  /** In UTF-16 units from the beginning; the end of the text so far if no match is open. */
  earliest(): number {
    this.#stamp++
    for (let i = 0; i < this.#pcs.length; i++) {
      if (this.#mayGoOn(this.#pcs[i] as number)) return this.#from[i] as number
    }
    return this.#at
  }

  #step(rune: number, size: number): void {
    const conditions = conditionsBetween(this.#before, rune)
    this.#stamp++
    this.#pcs.push(this.#start)
    this.#from.push(this.#at)
    for (let i = 0; i < this.#pcs.length; i++) {
      this.#follow(this.#pcs[i] as number, this.#from[i] as number, conditions, rune)
    }
    const [pcs, from] = [this.#pcs, this.#from]
    this.#pcs = this.#nextPcs
    this.#from = this.#nextFrom
    pcs.length = 0
    from.length = 0
    this.#nextPcs = pcs
    this.#nextFrom = from
    this.#at += size
    this.#before = rune
  }

  /** Queues every instruction after `pc` that matches `rune` and was not reached by an earlier match. */
  #follow(pc: number, from: number, conditions: number, rune: number): void {
    const stack = this.#stack
    stack.push(pc)
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      if (this.#visited[next] === this.#stamp) continue
      this.#visited[next] = this.#stamp
      const each = this.#inst[next] as Instruction
      if (each.op === ALT || each.op === ALT_MATCH) stack.push(each.out, each.arg)
      else if (each.op === CAPTURE || each.op === NOP) stack.push(each.out)
      else if (each.op === EMPTY_WIDTH) {
        if ((each.arg & ~conditions) === 0) stack.push(each.out)
      } else if (reads(each, rune) && this.#queued[each.out] !== this.#stamp) {
        this.#queued[each.out] = this.#stamp
        this.#nextPcs.push(each.out)
        this.#nextFrom.push(from)
      }
    }
  }

  /** Whether further input affects a match from here: it consumes more, or depends on what follows. */
  #mayGoOn(pc: number): boolean {
    const stack = this.#stack
    stack.push(pc)
    let open = false
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      if (this.#visited[next] === this.#stamp) continue
      this.#visited[next] = this.#stamp
      const each = this.#inst[next] as Instruction
      if (each.op === ALT || each.op === ALT_MATCH) stack.push(each.out, each.arg)
      else if (each.op === CAPTURE || each.op === NOP) stack.push(each.out)
      else if (each.op === EMPTY_WIDTH || isReader(each.op)) open = true
    }
    return open
  }
}

function conditionsBetween(before: number, after: number): number {
  let met = 0
  if (before === NONE) met |= BEGIN_TEXT | BEGIN_LINE
  else if (before === 0x0a) met |= BEGIN_LINE
  if (after === 0x0a) met |= END_LINE
  return met | (isWord(before) === isWord(after) ? NO_WORD_BOUNDARY : WORD_BOUNDARY)
}

function isWord(rune: number): boolean {
  return (
    (rune >= 0x30 && rune <= 0x39) || (rune >= 0x41 && rune <= 0x5a) || rune === 0x5f || (rune >= 0x61 && rune <= 0x7a)
  )
}

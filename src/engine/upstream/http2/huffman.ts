/** Code lengths (RFC 7541 appendix B), one base-36 digit per symbol. The code is canonical, so they determine it. */
const LENGTHS =
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca' +
  'd67777777777777777777777878djde6f56565666577666567655677777fbeds' +
  'kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn' +
  'qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrqu'

/** A transition: the next state, a flag if it emits a symbol, and the symbol. */
const EMITS = 0x100
const SYMBOL = 9
const WRONG = 1 << 20

/** Decodes four bits at a time. The shortest code has five bits, so each step emits at most one symbol. */
export class Huffman {
  readonly #steps: Int32Array
  /** Accepting states: after at most seven bits of padding, all ones. */
  readonly #ends: Uint8Array

  constructor() {
    const nodes = tree()
    const count = nodes.length / 2
    this.#steps = new Int32Array(count * 16)
    this.#ends = new Uint8Array(count)
    for (let state = 0; state < count; state++) {
      for (let half = 0; half < 16; half++) this.#steps[state * 16 + half] = step(nodes, state, half)
    }
    for (let state = 0, bits = 0; bits < 8; bits++) {
      this.#ends[state] = 1
      state = nodes[state * 2 + 1] as number
    }
  }

  /** Returns the number of bytes written to `out`, which needs 8/5 of the input's size; -1 if the code is invalid. */
  decode(bytes: Buffer, from: number, to: number, out: Buffer): number {
    const steps = this.#steps
    let state = 0
    let at = 0
    for (let i = from; i < to; i++) {
      const byte = bytes[i] as number
      const high = steps[state * 16 + (byte >> 4)] as number
      if (high & EMITS) out[at++] = high >> SYMBOL
      const low = steps[(high & 0xff) * 16 + (byte & 15)] as number
      if (low & EMITS) out[at++] = low >> SYMBOL
      if ((high | low) & WRONG) return -1
      state = low & 0xff
    }
    return this.#ends[state] === 1 ? at : -1
  }
}

function step(nodes: Int16Array, state: number, half: number): number {
  let symbol = -1
  for (let bit = 3; bit >= 0; bit--) {
    let next = nodes[state * 2 + ((half >> bit) & 1)] as number
    if (next < 0) {
      symbol = -1 - next
      // The EOS symbol must not occur.
      if (symbol === 256) return WRONG
      next = 0
    }
    state = next
  }
  return symbol < 0 ? state : state | EMITS | (symbol << SYMBOL)
}

/** The two children of each inner node; symbols are -1 and below. */
function tree(): Int16Array {
  const nodes = new Int16Array(256 * 2)
  let count = 1
  let code = 0
  for (let length = 1; length <= 30; length++) {
    code <<= 1
    for (let symbol = 0; symbol < LENGTHS.length; symbol++) {
      if (Number.parseInt(LENGTHS[symbol] as string, 36) !== length) continue
      let node = 0
      for (let bit = length - 1; bit > 0; bit--) {
        const at = node * 2 + ((code >> bit) & 1)
        if (nodes[at] === 0) nodes[at] = count++
        node = nodes[at] as number
      }
      nodes[node * 2 + (code & 1)] = -1 - symbol
      code++
    }
  }
  return nodes
}

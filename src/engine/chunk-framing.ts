/** Maximum hexadecimal digits of a chunk size: 2^48 bytes. */
const MAX_SIZE_DIGITS = 12
/** Maximum bytes of chunk extensions per message. */
const MAX_EXTENSIONS = 16 * 1024
const CR = 13
const LF = 10
const SEMICOLON = 59
const EXTENSIONS =
  /^(?:;[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[\t !\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)+$/

const SIZE = 0
const EXTENSION = 1
const SIZE_LF = 2
/** Chunk data comes next. */
export const DATA = 3
const DATA_CR = 4
const DATA_LF = 5
/** After the last chunk: trailers or the empty line come next. */
export const TRAILERS = 6

/** Parses the framing around chunk data (RFC 9112 section 7.1), byte by byte and strictly. */
export class ChunkFraming {
  state: number = SIZE
  /** In DATA: remaining bytes of the chunk. */
  left = 0
  readonly #fail: (rule: string) => Error
  #digits = 0
  #extension = ''
  #extensionBytes = 0

  /** `fail` creates the error to throw for a violation. */
  constructor(fail: (rule: string) => Error) {
    this.#fail = fail
  }

  /** The next byte starts a message. */
  start(): void {
    this.state = SIZE
    this.left = 0
    this.#digits = 0
    this.#extension = ''
    this.#extensionBytes = 0
  }

  /** `size` bytes of data have been read. */
  took(size: number): void {
    this.left -= size
    if (this.left === 0) this.state = DATA_CR
  }

  /** Consumes a byte that is not data. */
  next(byte: number): void {
    switch (this.state) {
      case SIZE:
        this.#size(byte)
        return
      case EXTENSION:
        this.#extend(byte)
        return
      case SIZE_LF:
        if (byte !== LF) throw this.#fail('malformed chunk size')
        this.#digits = 0
        this.state = this.left === 0 ? TRAILERS : DATA
        return
      case DATA_CR:
        if (byte !== CR) throw this.#fail('malformed chunk end')
        this.state = DATA_LF
        return
      case DATA_LF:
        if (byte !== LF) throw this.#fail('malformed chunk end')
        this.state = SIZE
    }
  }

  #size(byte: number): void {
    const digit = hexadecimal(byte)
    if (digit >= 0) {
      if (++this.#digits > MAX_SIZE_DIGITS) throw this.#fail('chunk too large')
      this.left = this.left * 16 + digit
    } else if (this.#digits === 0) throw this.#fail('malformed chunk size')
    else if (byte === CR) this.state = SIZE_LF
    else if (byte === SEMICOLON) {
      this.state = EXTENSION
      this.#extension = ';'
    } else throw this.#fail('malformed chunk size')
  }

  #extend(byte: number): void {
    if (byte !== CR) {
      if (++this.#extensionBytes > MAX_EXTENSIONS) throw this.#fail('chunk extensions too large')
      this.#extension += String.fromCharCode(byte)
      return
    }
    if (!EXTENSIONS.test(this.#extension)) throw this.#fail('malformed chunk extension')
    this.#extension = ''
    this.state = SIZE_LF
  }
}

function hexadecimal(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const lower = byte | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

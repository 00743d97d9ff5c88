import { CLASSES, TEXT, TOKEN } from '../http1-syntax.ts'
import { fieldKind } from '../upstream/hop-by-hop.ts'
import { MalformedRequest } from './http1-head.ts'

const CR = 13
const LF = 10
/** Hexadecimal digits of a chunk's size: 2^48 bytes. */
const MAX_SIZE_DIGITS = 12
/** Bytes of chunk extensions in one message. */
const MAX_EXTENSIONS = 16 * 1024
const MAX_TRAILERS = 16 * 1024
const EXTENSIONS =
  /^(?:;[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[\t !\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)+$/

const SIZE = 0
const EXTENSION = 1
const SIZE_LF = 2
const DATA = 3
const DATA_CR = 4
const DATA_LF = 5
const TRAILERS = 6
const DONE = 7

/**
 * Reads a request body that comes in chunks (RFC 9112 section 7.1), strictly. Its trailers are checked and left behind.
 */
export class ChunkReader {
  #state: number = SIZE
  #left = 0
  #digits = 0
  #extension = ''
  #extensionBytes = 0
  #line = ''
  #trailerBytes = 0

  get done(): boolean {
    return this.#state === DONE
  }

  /** Gives the data from `at` on to `take`; returns where the message ends, or `bytes.length`. Throws MalformedRequest. */
  read(bytes: Buffer, from: number, take: (data: Buffer) => void): number {
    let at = from
    while (at < bytes.length && this.#state !== DONE) {
      if (this.#state !== DATA) {
        this.#frame(bytes[at++] as number)
        continue
      }
      const size = Math.min(this.#left, bytes.length - at)
      take(bytes.subarray(at, at + size))
      at += size
      this.#left -= size
      if (this.#left === 0) this.#state = DATA_CR
    }
    return at
  }

  #frame(byte: number): void {
    switch (this.#state) {
      case SIZE:
        this.#size(byte)
        return
      case EXTENSION:
        if (byte === CR) {
          if (!EXTENSIONS.test(this.#extension)) throw new MalformedRequest('chunk extension')
          this.#extension = ''
          this.#state = SIZE_LF
        } else {
          if (++this.#extensionBytes > MAX_EXTENSIONS) throw new MalformedRequest('chunk extensions')
          this.#extension += String.fromCharCode(byte)
        }
        return
      case SIZE_LF:
        this.#expect(byte, LF, this.#left === 0 ? TRAILERS : DATA)
        this.#digits = 0
        return
      case DATA_CR:
        this.#expect(byte, CR, DATA_LF)
        return
      case DATA_LF:
        this.#expect(byte, LF, SIZE)
        return
      default:
        this.#trailer(byte)
    }
  }

  #expect(byte: number, wanted: number, next: number): void {
    if (byte !== wanted) throw new MalformedRequest('chunk')
    this.#state = next
  }

  #size(byte: number): void {
    const digit = hexadecimal(byte)
    if (digit >= 0) {
      if (++this.#digits > MAX_SIZE_DIGITS) throw new MalformedRequest('chunk size')
      this.#left = this.#left * 16 + digit
      return
    }
    if (this.#digits === 0) throw new MalformedRequest('chunk size')
    if (byte === CR) this.#state = SIZE_LF
    else if (byte === 59) {
      this.#state = EXTENSION
      this.#extension = ';'
    } else throw new MalformedRequest('chunk size')
  }

  #trailer(byte: number): void {
    if (++this.#trailerBytes > MAX_TRAILERS) throw new MalformedRequest('trailers')
    if (byte !== LF) {
      if (this.#line.endsWith('\r')) throw new MalformedRequest('trailers')
      this.#line += String.fromCharCode(byte)
      return
    }
    if (!this.#line.endsWith('\r')) throw new MalformedRequest('trailers')
    if (this.#line === '\r') this.#state = DONE
    else checkTrailer(this.#line)
    this.#line = ''
  }
}

/** `line` ends with its CR. */
function checkTrailer(line: string): void {
  const colon = line.indexOf(':')
  const name = line.slice(0, Math.max(0, colon))
  const kind = fieldKind(name)
  const plain = name !== '' && every(name, TOKEN) && every(line.slice(colon + 1, -1), TEXT)
  if (!plain || kind === 'content-length' || kind === 'transfer-encoding') throw new MalformedRequest('trailers')
}

function every(text: string, characters: number): boolean {
  for (let i = 0; i < text.length; i++) if (!((CLASSES[text.charCodeAt(i)] as number) & characters)) return false
  return true
}

function hexadecimal(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const lower = byte | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

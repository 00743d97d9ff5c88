/** Wire types of protobuf (encoding specification, "Message Structure"). */
const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/**
 * Writes protobuf messages, field by field, into one growing buffer. Enough of the format for telemetry: a library
 * would bring its own descriptors, reflection and reader.
 */
export class ProtobufWriter {
  #buffer = Buffer.allocUnsafe(1024)
  #length = 0

  string(field: number, text: string): void {
    const size = Buffer.byteLength(text)
    this.#tag(field, BYTES)
    this.#varint(size)
    this.#reserve(size)
    this.#length += this.#buffer.write(text, this.#length, size, 'utf8')
  }

  bytes(field: number, bytes: Uint8Array): void {
    this.#tag(field, BYTES)
    this.#varint(bytes.length)
    this.raw(bytes)
  }

  /** `hex` has an even number of digits. */
  hex(field: number, hex: string): void {
    const size = hex.length / 2
    this.#tag(field, BYTES)
    this.#varint(size)
    this.#reserve(size)
    this.#length += this.#buffer.write(hex, this.#length, size, 'hex')
  }

  uint(field: number, value: number): void {
    this.#tag(field, VARINT)
    this.#varint(value)
  }

  bool(field: number, value: boolean): void {
    this.uint(field, value ? 1 : 0)
  }

  /** Negative numbers take ten bytes, as int64 does. */
  int64(field: number, value: bigint): void {
    this.#tag(field, VARINT)
    let rest = BigInt.asUintN(64, value)
    while (rest > 0x7fn) {
      this.#byte(Number(rest & 0x7fn) | 0x80)
      rest >>= 7n
    }
    this.#byte(Number(rest))
  }

  fixed64(field: number, value: bigint): void {
    this.#tag(field, FIXED64)
    this.#reserve(8)
    this.#length = this.#buffer.writeBigUInt64LE(value, this.#length)
  }

  double(field: number, value: number): void {
    this.#tag(field, FIXED64)
    this.#reserve(8)
    this.#length = this.#buffer.writeDoubleLE(value, this.#length)
  }

  fixed32(field: number, value: number): void {
    this.#tag(field, FIXED32)
    this.#reserve(4)
    this.#length = this.#buffer.writeUInt32LE(value, this.#length)
  }

  /** A message in a field: what is written until `end` of the returned mark belongs to it. */
  begin(field: number): number {
    this.#tag(field, BYTES)
    this.#byte(0)
    return this.#length
  }

  /** The length stands before the content: where it needs more than the one byte set aside, the content moves up. */
  end(mark: number): void {
    const size = this.#length - mark
    const extra = varintSize(size) - 1
    if (extra > 0) {
      this.#reserve(extra)
      this.#buffer.copyWithin(mark + extra, mark, this.#length)
    }
    this.#length = mark - 1
    this.#varint(size)
    this.#length += size
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#buffer.set(bytes, this.#length)
    this.#length += bytes.length
  }

  /** What has been written, in memory of its own; the writer starts over. */
  take(): Buffer {
    const out = Buffer.from(this.#buffer.subarray(0, this.#length))
    this.#length = 0
    return out
  }

  #tag(field: number, type: number): void {
    this.#varint((field << 3) | type)
  }

  #varint(value: number): void {
    this.#reserve(10)
    let rest = value
    while (rest > 0x7f) {
      this.#buffer[this.#length++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.#buffer[this.#length++] = rest
  }

  #byte(value: number): void {
    this.#reserve(1)
    this.#buffer[this.#length++] = value
  }

  #reserve(bytes: number): void {
    const wanted = this.#length + bytes
    if (wanted <= this.#buffer.length) return
    const bigger = Buffer.allocUnsafe(Math.max(wanted, this.#buffer.length * 2))
    this.#buffer.copy(bigger, 0, 0, this.#length)
    this.#buffer = bigger
  }
}

function varintSize(value: number): number {
  let size = 1
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 0x80)) size++
  return size
}

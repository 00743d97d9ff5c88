import type { Socket } from 'node:net'
import * as h2 from './frames.ts'

/** Size of the buffer that collects frames. */
const PIECE = 16 * 1024
/** Payloads of this size and above are written without copying. */
const LARGE = 4096
/** Bytes that may be queued in the socket, enough for all bodies of one turn to be written together. */
const MAX_QUEUED = 512 * 1024

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

/** Collects frames, so that those of one turn are sent in one write. */
export class Outbox {
  #socket: Socket | undefined
  #piece = Buffer.allocUnsafeSlow(PIECE)
  /** The offset that was passed to the socket, and the offset that was written. */
  #from = 0
  #at = 0
  #corked = false
  /** The socket's queue is full. */
  full = false

  /** `drained` runs when a full socket has capacity again. */
  attach(socket: Socket, drained: () => void): void {
    this.#socket = socket
    socket.on('drain', () => {
      this.full = false
      drained()
    })
  }

  /** Bytes not yet passed to the system. */
  get waiting(): number {
    return this.#at - this.#from + (this.#socket?.writableLength ?? 0)
  }

  /** Writes a frame header. The payload follows with `u32`, `bytes` or `payload`. */
  frame(length: number, type: number, flags: number, stream: number): void {
    this.#room(h2.FRAME_HEAD)
    const piece = this.#piece
    const at = this.#at
    piece[at] = length >> 16
    piece[at + 1] = length >> 8
    piece[at + 2] = length
    piece[at + 3] = type
    piece[at + 4] = flags
    this.#at = at + 5
    this.u32(stream)
  }

  u32(value: number): void {
    this.#room(4)
    this.#at = this.#piece.writeUInt32BE(value, this.#at)
  }

  /** Writes the connection preface. */
  preface(settings: readonly (readonly [number, number])[]): void {
    this.bytes(PREFACE)
    this.frame(settings.length * 6, h2.SETTINGS, 0, 0)
    for (const [setting, value] of settings) {
      this.bytes(Buffer.of(setting >> 8, setting))
      this.u32(value)
    }
  }

  /** Writes a frame whose payload is one number. */
  number(type: typeof h2.RST_STREAM | typeof h2.WINDOW_UPDATE, stream: number, value: number): void {
    this.frame(4, type, 0, stream)
    this.u32(value)
  }

  goodbye(code: number): void {
    this.frame(8, h2.GOAWAY, 0, 0)
    this.u32(0)
    this.u32(code)
  }

  /** Writes a header block in frames of at most `size` bytes. */
  fields(stream: number, block: Buffer, end: boolean, size: number): void {
    const ends = end ? h2.END_STREAM : 0
    for (let at = 0; at < block.length; at += size) {
      const to = Math.min(at + size, block.length)
      const flags = (at === 0 ? ends : 0) | (to === block.length ? h2.END_HEADERS : 0)
      this.frame(to - at, at === 0 ? h2.HEADERS : h2.CONTINUATION, flags, stream)
      this.bytes(block, at, to)
    }
  }

  /** Copies. */
  bytes(from: Buffer, start = 0, end = from.length): void {
    for (let at = start; at < end; ) {
      this.#room(1)
      const copied = from.copy(this.#piece, this.#at, at, end)
      this.#at += copied
      at += copied
    }
  }

  /** `done` runs once the memory is free, if it is worth freeing; never during this call. */
  payload(from: Buffer, start: number, end: number, done: (() => void) | undefined): void {
    // Earlier parts of the chunk may still be queued: its memory is free once the last part has been written.
    if (end - start < LARGE && (start === 0 || done === undefined)) {
      this.bytes(from, start, end)
      return
    }
    this.#cork()
    this.#handOver()
    this.#write(from.subarray(start, end), done && (error => error ?? done()))
  }

  flush(): void {
    const socket = this.#socket
    if (socket === undefined) return
    this.#handOver()
    if (this.#corked) {
      this.#corked = false
      socket.uncork()
    }
    // Everything was passed to the system, so the buffer can be reused.
    if (socket.writableLength === 0) this.#from = this.#at = 0
  }

  #room(size: number): void {
    if (PIECE - this.#at >= size) return
    this.#cork()
    this.#handOver()
    this.#piece = Buffer.allocUnsafeSlow(PIECE)
    this.#from = this.#at = 0
  }

  #handOver(): void {
    if (this.#at === this.#from) return
    const part = this.#piece.subarray(this.#from, this.#at)
    this.#from = this.#at
    this.#write(part, undefined)
  }

  /** Batches the writes until the next `flush`. */
  #cork(): void {
    if (this.#corked) return
    this.#corked = true
    this.#socket?.cork()
  }

  #write(part: Buffer, done: ((error?: Error | null) => void) | undefined): void {
    const socket = this.#socket
    if (socket?.write(part, done) === false && socket.writableLength >= MAX_QUEUED) this.full = true
  }
}

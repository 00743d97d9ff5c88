import type { FrameGuard } from './frame-guard.ts'
import { FrameReader } from './frame-reader.ts'
import * as h2 from './frames.ts'
import type { HpackDecoder } from './hpack-decoder.ts'

/** Maximum size of a header block, and of its frames. */
export const HEAD_LIMIT = 64 * 1024
const MAX_FRAMES = 64

/** Receives the frames of a server once they are validated. */
export interface FrameReceiver {
  /** `size`: bytes of the frame's payload, including padding. `bytes` is only valid during the call. */
  onData(stream: number, end: boolean, bytes: Buffer, from: number, to: number, size: number): void
  /** `fields` is undefined if they exceed the limit. */
  onFields(stream: number, end: boolean, fields: readonly string[] | undefined): void
  onReset(stream: number, code: number): void
  /** `each` iterates over the settings. */
  onSettings(each: (take: (setting: number, value: number) => void) => void): void
  onPing(bytes: Buffer, from: number, to: number): void
  /** `last`: the last stream that the server processes. */
  onGoaway(last: number): void
  /** `stream`: 0 for the connection. */
  onWindow(stream: number, more: number): void
}

/** Reads and validates frames (RFC 9113 section 6). Throws BrokenConnection for an invalid one. */
export class Incoming {
  readonly #reader = new FrameReader((...frame) => this.#onFrame(...frame))
  readonly #receiver: FrameReceiver
  readonly #decoder: HpackDecoder
  readonly #guard: FrameGuard
  #greeted = false
  #over = false
  /** An incomplete header block. */
  #block: { readonly stream: number; readonly end: boolean; readonly parts: Buffer[]; size: number } | undefined

  constructor(receiver: FrameReceiver, decoder: HpackDecoder, guard: FrameGuard) {
    this.#receiver = receiver
    this.#decoder = decoder
    this.#guard = guard
  }

  read(bytes: Buffer, size: number): void {
    try {
      this.#reader.push(bytes, size)
    } catch (error) {
      // The first bytes of another protocol look like a huge frame.
      throw this.#greeted || !(error instanceof h2.BrokenConnection) ? error : notHttp2()
    }
  }

  /** Ignores everything from now on. */
  stop(): void {
    this.#over = true
  }

  #onFrame(type: number, flags: number, stream: number, bytes: Buffer, from: number, to: number): void {
    if (this.#over) return
    if (!this.#greeted && (type !== h2.SETTINGS || flags & h2.ACK)) throw notHttp2()
    if (this.#block !== undefined && (type !== h2.CONTINUATION || stream !== this.#block.stream)) {
      throw broken('an incomplete header block')
    }
    if (type === h2.DATA) this.#onData(flags, stream, bytes, from, to)
    else if (type === h2.HEADERS) this.#onHeaders(flags, stream, bytes, from, to)
    else if (type === h2.CONTINUATION) this.#onContinuation(flags, bytes, from, to)
    else {
      this.#guard.idle()
      this.#onControl(type, flags, stream, bytes, from, to)
    }
  }

  #onData(flags: number, stream: number, bytes: Buffer, at: number, end: number): void {
    const [from, to] = padded(flags, bytes, at, end)
    if (to > from) this.#guard.useful()
    else this.#guard.idle()
    this.#receiver.onData(stream, (flags & h2.END_STREAM) !== 0, bytes, from, to, end - at)
  }

  #onHeaders(flags: number, stream: number, bytes: Buffer, at: number, to: number): void {
    let [from, end] = padded(flags, bytes, at, to)
    if (flags & h2.PRIORITIZED) from += 5
    if (from > end) throw broken('more padding than payload')
    const ends = (flags & h2.END_STREAM) !== 0
    if (flags & h2.END_HEADERS) this.#onFields(stream, ends, bytes, from, end)
    else this.#block = { stream, end: ends, parts: [Buffer.from(bytes.subarray(from, end))], size: end - from }
  }

  #onContinuation(flags: number, bytes: Buffer, from: number, to: number): void {
    const block = this.#block
    if (block === undefined) throw broken('an unexpected CONTINUATION')
    block.parts.push(Buffer.from(bytes.subarray(from, to)))
    block.size += to - from
    if (block.size > HEAD_LIMIT || block.parts.length > MAX_FRAMES) {
      throw new h2.BrokenConnection(h2.ENHANCE_YOUR_CALM, 'a header block above the limit')
    }
    if ((flags & h2.END_HEADERS) === 0) return
    this.#block = undefined
    const whole = Buffer.concat(block.parts, block.size)
    this.#onFields(block.stream, block.end, whole, 0, whole.length)
  }

  /** Decoded even for a stream that has ended, as later blocks refer to them. */
  #onFields(stream: number, end: boolean, bytes: Buffer, from: number, to: number): void {
    this.#receiver.onFields(stream, end, this.#decoder.decode(bytes, from, to))
  }

  #onControl(type: number, flags: number, stream: number, bytes: Buffer, from: number, to: number): void {
    const size = to - from
    switch (type) {
      case h2.PRIORITY:
        sized(size, 5)
        break
      case h2.RST_STREAM:
        sized(size, 4)
        this.#receiver.onReset(stream, bytes.readUInt32BE(from))
        break
      case h2.SETTINGS:
        onConnection(stream)
        this.#onSettings(flags, bytes, from, to)
        break
      case h2.PUSH_PROMISE:
        throw broken('a PUSH_PROMISE, which is disabled')
      case h2.PING:
        onConnection(stream)
        sized(size, 8)
        if ((flags & h2.ACK) === 0) this.#receiver.onPing(bytes, from, to)
        break
      case h2.GOAWAY:
        onConnection(stream)
        sized(Math.min(size, 8), 8)
        this.#receiver.onGoaway(bytes.readUInt32BE(from) & h2.LARGEST)
        break
      case h2.WINDOW_UPDATE: {
        sized(size, 4)
        const more = bytes.readUInt32BE(from) & h2.LARGEST
        if (more === 0) throw broken('a WINDOW_UPDATE of 0')
        this.#receiver.onWindow(stream, more)
      }
    }
  }

  #onSettings(flags: number, bytes: Buffer, from: number, to: number): void {
    const acked = (flags & h2.ACK) !== 0
    sized(acked ? to - from : (to - from) % 6, 0)
    if (acked) return
    this.#greeted = true
    this.#receiver.onSettings(take => {
      for (let at = from; at < to; at += 6) {
        const [setting, value] = [bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2)]
        if (setting === h2.INITIAL_WINDOW_SIZE && value > h2.LARGEST) throw windowTooLarge()
        if (setting === h2.ENABLE_PUSH && value !== 0) throw broken('ENABLE_PUSH from a server')
        if (setting === h2.MAX_FRAME_SIZE && (value < h2.FRAME_SIZE || value > 0xffffff)) {
          throw broken('a MAX_FRAME_SIZE outside the limits')
        }
        take(setting, value)
      }
    })
  }
}

export function broken(what: string): h2.BrokenConnection {
  return new h2.BrokenConnection(h2.PROTOCOL_ERROR, what)
}

export function windowTooLarge(): h2.BrokenConnection {
  return new h2.BrokenConnection(h2.FLOW_CONTROL_ERROR, 'a window above 2^31-1')
}

function notHttp2(): h2.BrokenConnection {
  return broken('the server does not speak HTTP/2')
}

/** The range of the payload without its padding. */
function padded(flags: number, bytes: Buffer, from: number, to: number): [number, number] {
  if ((flags & h2.PADDED) === 0) return [from, to]
  const end = from < to ? to - (bytes[from] as number) : from
  if (end <= from) throw broken('more padding than payload')
  return [from + 1, end]
}

function sized(size: number, wanted: number): void {
  if (size !== wanted) throw new h2.BrokenConnection(h2.FRAME_SIZE_ERROR, 'a frame of the wrong size')
}

function onConnection(stream: number): void {
  if (stream !== 0) throw broken('a connection frame on a stream')
}

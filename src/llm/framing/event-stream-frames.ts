// Amazon's binary event stream: https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html
import { crc32 } from 'node:zlib'
import { GatewayError } from '../../http/errors.ts'
import { keepChunk } from '../../http/keep-chunk.ts'
import type { RawEvent } from '../chat/codec.ts'

const PRELUDE = 12
const CHECKSUM = 4
const STRING = 7
/** Sizes of header values by type; -1: prefixed with a length. */
const SIZES = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16]

/**
 * Decodes frames from arbitrary chunks. Buffers at most `limit` bytes of one frame. Throws GatewayError
 * `responseTooLarge`, or `llmResponse` for a malformed frame.
 */
export class FrameReader {
  readonly #limit: number
  readonly #onEvent: (event: RawEvent) => void
  #held: Buffer[] = []
  #size = 0
  /** Length of the incoming frame; 0 while unknown. */
  #wanted = 0

  constructor(limit: number, onEvent: (event: RawEvent) => void) {
    this.#limit = limit
    this.#onEvent = onEvent
  }

  /** Whether part of an incomplete frame is buffered. */
  get partial(): boolean {
    return this.#size > 0
  }

  push(chunk: Buffer): void {
    keepChunk(this.#held, chunk)
    this.#size += chunk.length
    if (this.#size < Math.max(this.#wanted, PRELUDE)) return
    let data = this.#held.length === 1 ? (this.#held[0] as Buffer) : Buffer.concat(this.#held, this.#size)
    for (;;) {
      this.#wanted = data.length < PRELUDE ? 0 : this.#lengthOf(data)
      if (this.#wanted === 0 || data.length < this.#wanted) break
      this.#onEvent(readFrame(data.subarray(0, this.#wanted)))
      data = data.subarray(this.#wanted)
    }
    this.#held = data.length === 0 ? [] : [data]
    this.#size = data.length
  }

  #lengthOf(data: Buffer): number {
    const length = data.readUInt32BE(0)
    if (crc32(data.subarray(0, 8)) !== data.readUInt32BE(8)) throw broken('the checksum of a frame is wrong')
    if (length > this.#limit) throw new GatewayError('responseTooLarge', { detail: `a frame of ${length} bytes` })
    if (length < PRELUDE + CHECKSUM + data.readUInt32BE(4)) throw broken('the length of a frame is wrong')
    return length
  }
}

function readFrame(frame: Buffer): RawEvent {
  const end = frame.length - CHECKSUM
  if (crc32(frame.subarray(0, end)) !== frame.readUInt32BE(end)) throw broken('the checksum of a frame is wrong')
  const behindHeaders = PRELUDE + frame.readUInt32BE(4)
  const headers = readHeaders(frame.subarray(PRELUDE, behindHeaders))
  const name = headers.get(':exception-type') ?? headers.get(':event-type') ?? headers.get(':error-code')
  const failed = headers.get(':message-type') !== 'event' && headers.has(':message-type')
  return {
    name: failed && !name?.endsWith('Exception') ? `${name ?? 'unknown'}Exception` : name,
    data: frame.toString('utf8', behindHeaders, end),
  }
}

function readHeaders(data: Buffer): Map<string, string> {
  const headers = new Map<string, string>()
  for (let at = 0; at < data.length; ) {
    const nameEnd = at + 1 + (data[at] as number)
    const name = data.toString('utf8', at + 1, nameEnd)
    const type = data[nameEnd]
    const fixed = type === undefined ? undefined : SIZES[type]
    if (fixed === undefined || (fixed < 0 && nameEnd + 3 > data.length))
      throw broken('a header of a frame cannot be read')
    const start = nameEnd + (fixed < 0 ? 3 : 1)
    const size = fixed < 0 ? data.readUInt16BE(nameEnd + 1) : fixed
    if (start + size > data.length) throw broken('a header of a frame is cut')
    if (type === STRING) headers.set(name, data.toString('utf8', start, start + size))
    at = start + size
  }
  return headers
}

function broken(detail: string): GatewayError {
  return new GatewayError('llmResponse', { detail })
}

/** Encodes events, each a line of JSON such as `{"messageStop":{…}}`. */
export function writeFrames(lines: string): Buffer {
  const frames = lines.split('\n').flatMap(line => {
    if (line === '') return []
    const [[name = '', value] = []] = Object.entries(JSON.parse(line) as object)
    return [writeFrame(name, JSON.stringify(value))]
  })
  return Buffer.concat(frames)
}

/** Encodes one frame as the service does. */
export function writeFrame(name: string, data: string): Buffer {
  const failed = name.endsWith('Exception')
  const headers = Buffer.concat([
    writeHeader(failed ? ':exception-type' : ':event-type', name),
    writeHeader(':content-type', 'application/json'),
    writeHeader(':message-type', failed ? 'exception' : 'event'),
  ])
  const payload = Buffer.from(data)
  const frame = Buffer.alloc(PRELUDE + headers.length + payload.length + CHECKSUM)
  frame.writeUInt32BE(frame.length, 0)
  frame.writeUInt32BE(headers.length, 4)
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8)
  headers.copy(frame, PRELUDE)
  payload.copy(frame, PRELUDE + headers.length)
  frame.writeUInt32BE(crc32(frame.subarray(0, frame.length - CHECKSUM)), frame.length - CHECKSUM)
  return frame
}

function writeHeader(name: string, value: string): Buffer {
  const header = Buffer.alloc(1 + name.length + 3 + Buffer.byteLength(value))
  header.writeUInt8(name.length, 0)
  header.write(name, 1)
  header.writeUInt8(STRING, 1 + name.length)
  header.writeUInt16BE(Buffer.byteLength(value), 2 + name.length)
  header.write(value, 4 + name.length)
  return header
}

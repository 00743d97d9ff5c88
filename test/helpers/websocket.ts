import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { echo, startUpstream, type Upstream } from './upstream.ts'

/** Frames of RFC 6455 section 5.2, without extensions and fragments. */
export class FrameReader {
  #held: Buffer = Buffer.alloc(0)

  /** The opcode and the payload of each frame that is complete now. */
  read(chunk: Buffer): { readonly opcode: number; readonly payload: Buffer }[] {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    const frames: { opcode: number; payload: Buffer }[] = []
    for (;;) {
      const held = this.#held
      if (held.length < 2) return frames
      const short = held[1]! & 0x7f
      const mask = held[1]! & 0x80 ? 4 : 0
      const prefix = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0)
      if (held.length < prefix + mask) return frames
      const length = short === 126 ? held.readUInt16BE(2) : short === 127 ? Number(held.readBigUInt64BE(2)) : short
      if (held.length < prefix + mask + length) return frames
      const payload = Buffer.from(held.subarray(prefix + mask, prefix + mask + length))
      if (mask > 0) for (let i = 0; i < length; i++) payload[i] = payload[i]! ^ held[prefix + (i & 3)]!
      frames.push({ opcode: held[0]! & 0x0f, payload })
      this.#held = held.subarray(prefix + mask + length)
    }
  }
}

export function frame(payload: Buffer, { masked = false, opcode = 2 } = {}): Buffer {
  const { length } = payload
  const extra = length < 126 ? 0 : length < 65_536 ? 2 : 8
  const head = Buffer.alloc(2 + extra)
  head[0] = 0x80 | opcode
  head[1] = (masked ? 0x80 : 0) | (extra === 0 ? length : extra === 2 ? 126 : 127)
  if (extra === 2) head.writeUInt16BE(length, 2)
  if (extra === 8) head.writeBigUInt64BE(BigInt(length), 2)
  if (!masked) return Buffer.concat([head, payload])
  const mask = randomBytes(4)
  const hidden = Buffer.from(payload)
  for (let i = 0; i < length; i++) hidden[i] = hidden[i]! ^ mask[i & 3]!
  return Buffer.concat([head, mask, hidden])
}

/** Answers each message with itself, as fast as the client takes it; anything else as `echo` does. */
export async function startWebSocketServer(): Promise<Upstream & { readonly open: Set<Duplex> }> {
  const upstream = await startUpstream(echo)
  const open = new Set<Duplex>()
  upstream.server.on('upgrade', (req: IncomingMessage, socket: Duplex) => {
    const accept = createHash('sha1').update(`${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept.digest('base64')}\r\n\r\n`,
    )
    open.add(socket)
    const frames = new FrameReader()
    socket.on('data', (chunk: Buffer) => {
      for (const { opcode, payload } of frames.read(chunk)) {
        if (socket.writable) socket.write(frame(payload, { opcode }))
        if (opcode === 8) socket.end()
      }
      if (!socket.writableNeedDrain) return
      socket.pause()
      socket.once('drain', () => socket.resume())
    })
    socket.on('error', () => {}).on('end', () => socket.end())
    socket.on('close', () => open.delete(socket))
  })
  return Object.assign(upstream, { open })
}

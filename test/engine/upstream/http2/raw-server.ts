import { once } from 'node:events'
import net from 'node:net'
import { onTestFinished } from 'vitest'
import { fields, frame } from '../../../helpers/http2-frames.ts'

export const [DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION] =
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
export const [END_STREAM, ACK, END_HEADERS, PADDED, PRIORITIZED] = [1, 1, 4, 8, 32]
export const NOTHING = Buffer.alloc(0)

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

/** One connection of a server that is made of bytes: it says what the test tells it to, however wrong. */
export class RawConnection {
  readonly socket: net.Socket
  readonly frames: Frame[] = []
  readonly closed: Promise<void>
  #rest = NOTHING
  #preface = false
  #waiting: (() => void)[] = []

  constructor(socket: net.Socket) {
    this.socket = socket.on('error', () => {})
    this.closed = new Promise(resolve => socket.once('close', () => resolve()))
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('close', () => this.#wake())
  }

  send(...bytes: Buffer[]): void {
    this.socket.write(Buffer.concat(bytes))
  }

  /** The frames of a type that have come, once there are so many. */
  async got(type: number, count = 1, of: (each: Frame) => boolean = () => true): Promise<Frame[]> {
    for (;;) {
      const found = this.frames.filter(each => each.type === type && of(each))
      if (found.length >= count) return found
      if (this.socket.destroyed) throw new Error(`closed after ${found.length} frames of type ${type}`)
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    }
  }

  #read(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk])
    if (!this.#preface) {
      if (this.#rest.length < 24) return
      this.#preface = true
      this.#rest = this.#rest.subarray(24)
    }
    while (this.#rest.length >= 9) {
      const end = 9 + this.#rest.readUIntBE(0, 3)
      if (this.#rest.length < end) break
      const [type, flags] = [this.#rest[3]!, this.#rest[4]!]
      this.frames.push({ type, flags, stream: this.#rest.readUInt32BE(5), payload: this.#rest.subarray(9, end) })
      this.#rest = this.#rest.subarray(end)
    }
    this.#wake()
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const go of waiting) go()
  }
}

export interface RawServer {
  readonly port: number
  readonly connections: RawConnection[]
}

/** `settings`: what it greets with. */
export async function startRaw(
  serve: (connection: RawConnection, index: number) => void | Promise<void>,
  settings: Buffer | 'none' = NOTHING,
): Promise<RawServer> {
  const connections: RawConnection[] = []
  const server = net.createServer({ noDelay: true }, socket => {
    const connection = new RawConnection(socket)
    connections.push(connection)
    if (settings !== 'none') connection.send(frame(SETTINGS, 0, 0, settings))
    // What a test waits for in vain, its client knows.
    void Promise.resolve(serve(connection, connections.length - 1)).catch(() => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const { socket } of connections) socket.destroy()
    server.close()
  })
  return { port: (server.address() as net.AddressInfo).port, connections }
}

export function u32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, i * 4)
  return bytes
}

export function setting(name: number, value: number): Buffer {
  return Buffer.concat([Buffer.of(0, name), u32(value)])
}

export function head(stream: number, flags = END_HEADERS, list: readonly string[] = [':status', '200']): Buffer {
  return frame(HEADERS, flags, stream, fields(list))
}

export function data(stream: number, text: string | Buffer, flags = 0): Buffer {
  return frame(DATA, flags, stream, Buffer.from(text))
}

import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { FrameReader, frame } from './websocket.ts'

export const CHANNELS = 'v4.channel.k8s.io'

export interface ForwardingOptions {
  /** Where a connection to a port of a pod really goes; undefined: nobody listens there. */
  readonly portOf: (port: number) => number | undefined
  /** The same for some pods only: the port on this machine, whatever was asked for. */
  readonly own?: Readonly<Record<string, number | undefined>> | undefined
  /** The subprotocol that is answered, instead of the one that was agreed on. */
  readonly protocol?: string
  /** What is said once the port has been announced, instead of being connected to anything. */
  readonly say?: (socket: Duplex) => void
}

/**
 * A kubelet's end of a port-forward over WebSocket, for one port: the messages of k8s.io/kubelet's
 * `pkg/cri/streaming/portforward`, in its order and with its words.
 */
export function servePortForward(req: IncomingMessage, socket: Duplex, options: ForwardingOptions): void {
  const offered = (req.headers['sec-websocket-protocol'] ?? '').split(/, */)
  if (!offered.includes(CHANNELS)) {
    socket.end('HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
    return
  }
  const key = `${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
  const accept = createHash('sha1').update(key).digest('base64')
  const protocol = options.protocol ?? CHANNELS
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
  )
  socket.on('error', () => {})
  const { pathname, searchParams } = new URL(req.url!, 'http://localhost')
  const port = Number(searchParams.get('ports'))
  const pod = /\/pods\/([^/]+)\//.exec(pathname)?.[1] ?? ''
  const to = options.own && Object.hasOwn(options.own, pod) ? options.own[pod] : options.portOf(port)
  for (const channel of [0, 1]) socket.write(message(channel, Buffer.of(port & 0xff, port >> 8)))
  if (options.say) options.say(socket)
  else forward(socket, port, to)
}

/** One message of a channel. */
export function message(channel: number, data: Uint8Array | string): Buffer {
  return frame(Buffer.concat([Buffer.of(channel), Buffer.from(data)]))
}

function forward(socket: Duplex, port: number, to: number | undefined): void {
  const failed = (why: string) => {
    socket.write(message(1, `error forwarding port ${port} to pod 4f1e, uid : failed to execute portforward: ${why}`))
    close(socket)
  }
  if (to === undefined) {
    failed(`failed to connect to localhost:${port}: connect: connection refused`)
    return
  }
  const inner = connect(to, '127.0.0.1')
  const frames = new FrameReader()
  socket.on('data', (chunk: Buffer) => {
    for (const { opcode, payload } of frames.read(chunk)) {
      if (opcode === 8) inner.end()
      if (opcode === 2 && payload[0] === 0) inner.write(payload.subarray(1))
    }
  })
  socket.on('close', () => inner.destroy())
  inner.on('data', chunk => {
    if (socket.writable && !socket.write(message(0, chunk))) {
      inner.pause()
      socket.once('drain', () => inner.resume())
    }
  })
  inner.on('error', error => failed(error.message))
  inner.on('end', () => close(socket))
}

function close(socket: Duplex): void {
  socket.resume()
  if (socket.writable) socket.end(frame(Buffer.of(0x03, 0xe8), { opcode: 8 }))
}

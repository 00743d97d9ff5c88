import { createHash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** The client side of RFC 6455, as far as Kubernetes uses it: binary messages, no extensions. */
export interface Handshake {
  readonly headers: Readonly<Record<string, string>>
  readonly protocol: string
  /** The expected answer to the handshake (section 4.2.2). */
  readonly accept: string
}

export function handshake(protocol: string): Handshake {
  const key = randomBytes(16).toString('base64')
  return {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key,
      'sec-websocket-protocol': protocol,
    },
    protocol,
    accept: createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64'),
  }
}

/** The problem with a handshake response. Undefined if it is valid. */
export function proves(reply: IncomingHttpHeaders, { accept, protocol }: Handshake): string | undefined {
  if (reply.upgrade?.toLowerCase() !== 'websocket' || reply['sec-websocket-accept'] !== accept) {
    return 'it did not complete the WebSocket handshake'
  }
  const given = reply['sec-websocket-protocol'] ?? 'none'
  return given === protocol ? undefined : `it speaks the subprotocol ${given}, not ${protocol}`
}

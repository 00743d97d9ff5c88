import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { echo, startUpstream, type Upstream } from './upstream.ts'
import { FrameReader, frame } from './websocket.ts'

export type RealtimeEvent = Record<string, unknown> & { readonly type: string }

export interface RealtimeServer extends Upstream {
  /** The handshakes. */
  readonly asked: IncomingMessage[]
  /** What clients have said. */
  readonly heard: RealtimeEvent[]
  readonly sockets: Duplex[]
}

type Reply = (event: RealtimeEvent, send: (event: object) => void, socket: Duplex) => void

/** A server of OpenAI's Realtime API: says who it is, then `reply` answers each event. */
export async function startRealtimeServer(reply: Reply = answer): Promise<RealtimeServer> {
  const upstream = await startUpstream(echo)
  const server = Object.assign(upstream, { asked: [], heard: [], sockets: [] }) as RealtimeServer
  upstream.server.on('upgrade', (req: IncomingMessage, socket: Duplex) => {
    server.asked.push(req)
    server.sockets.push(socket)
    const accept = createHash('sha1').update(`${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    const protocol = req.headers['sec-websocket-protocol']?.split(',')[0]
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept.digest('base64')}\r\n${protocol ? `Sec-WebSocket-Protocol: ${protocol}\r\n` : ''}\r\n`,
    )
    const send = (event: object): void => {
      if (socket.writable) socket.write(frame(Buffer.from(JSON.stringify(event)), { opcode: 1 }))
    }
    const model = new URL(req.url ?? '', 'http://x').searchParams.get('model')
    send({ type: 'session.created', event_id: 'event_0', session: { model, type: 'realtime' } })
    const frames = new FrameReader()
    socket.on('data', (chunk: Buffer) => {
      for (const { opcode, payload } of frames.read(chunk)) {
        if (opcode === 8) socket.end(frame(payload, { opcode: 8 }))
        if (opcode !== 1) continue
        const event = JSON.parse(payload.toString('utf8')) as RealtimeEvent
        server.heard.push(event)
        reply(event, send, socket)
      }
    })
    socket.on('error', () => {}).on('end', () => socket.end())
  })
  return server
}

export const USAGE = {
  total_tokens: 30,
  input_tokens: 20,
  output_tokens: 10,
  input_token_details: { cached_tokens: 8, text_tokens: 15, audio_tokens: 5 },
  output_token_details: { text_tokens: 6, audio_tokens: 4 },
}

/** The events of one spoken answer. */
export function spoken(id: string, words: readonly string[], usage: object = USAGE): object[] {
  const text = words.join('')
  const at = { response_id: id, item_id: `item_${id}`, output_index: 0, content_index: 0 }
  const item = { id: `item_${id}`, type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }
  return [
    { type: 'response.created', response: { id, status: 'in_progress', output: [] } },
    ...words.map(delta => ({ type: 'response.output_text.delta', ...at, delta })),
    { type: 'response.output_text.done', ...at, text },
    { type: 'response.output_item.done', response_id: id, output_index: 0, item },
    { type: 'response.done', response: { id, status: 'completed', output: [item], usage } },
  ]
}

let next = 0
function answer(event: RealtimeEvent, send: (event: object) => void): void {
  if (event.type === 'response.create') for (const each of spoken(`r${next++}`, ['Hello', ' there'])) send(each)
}

import { describe, expect, test } from 'vitest'
import { FrameReader, frameOf, OPCODES } from '../../../src/http/websocket-frames.ts'
import { handshake, proves } from '../../../src/tools/kube-api/web-socket.ts'
import { frame, FrameReader as ServerReader } from '../../helpers/websocket.ts'

/** Messages put together again, whatever the pieces. */
function messages(chunks: readonly Buffer[]) {
  const reader = new FrameReader()
  const found: { opcode: number; data: Buffer }[] = []
  let open: Buffer[] = []
  for (const { opcode, first, last, data } of chunks.flatMap(chunk => reader.read(chunk))) {
    if (opcode >= OPCODES.close) {
      found.push({ opcode, data: Buffer.from(data) })
      continue
    }
    if (first !== (open.length === 0)) throw new Error('the first piece of a message is not marked as such')
    if (data.length > 0) open.push(data)
    if (!last) continue
    found.push({ opcode, data: Buffer.concat(open) })
    open = []
  }
  return found
}

describe('server frames', () => {
  /** Without the bit that says that a message ends here. */
  const started = (payload: Buffer) => {
    const bytes = frame(payload)
    bytes[0]! &= 0x7f
    return bytes
  }
  const bytes = Buffer.concat([
    frame(Buffer.from('short')),
    frame(Buffer.alloc(0)),
    frame(Buffer.alloc(300, 'm')),
    frame(Buffer.from('?'), { opcode: OPCODES.ping }),
    started(Buffer.from('in ')),
    frame(Buffer.alloc(0), { opcode: OPCODES.pong }),
    frame(Buffer.from('pieces'), { opcode: OPCODES.continuation }),
    frame(Buffer.alloc(66_000, 'l')),
    frame(Buffer.of(3, 0xe8), { opcode: OPCODES.close }),
  ])
  const whole = [
    { opcode: OPCODES.binary, data: Buffer.from('short') },
    { opcode: OPCODES.binary, data: Buffer.alloc(0) },
    { opcode: OPCODES.binary, data: Buffer.alloc(300, 'm') },
    { opcode: OPCODES.ping, data: Buffer.from('?') },
    { opcode: OPCODES.pong, data: Buffer.alloc(0) },
    { opcode: OPCODES.binary, data: Buffer.from('in pieces') },
    { opcode: OPCODES.binary, data: Buffer.alloc(66_000, 'l') },
    { opcode: OPCODES.close, data: Buffer.of(3, 0xe8) },
  ]

  test.each([1, 2, 3, 7, 64, 1024, bytes.length])('parse the same in chunks of %i bytes', size => {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    )
    expect(messages(chunks)).toEqual(whole)
  })

  test('are forwarded as they arrive, whatever their length', () => {
    const head = Buffer.from([0x82, 127, 0, 1, 0, 0, 0, 0, 0, 0])
    const reader = new FrameReader()
    reader.read(head)
    for (let i = 0; i < 100; i++) {
      const [part] = reader.read(Buffer.alloc(1000))
      expect([part?.data.length, part?.first, part?.last]).toEqual([1000, i === 0, false])
    }
  })

  test('cannot interleave two messages', () => {
    expect(() => new FrameReader().read(Buffer.concat([started(Buffer.from('a')), frame(Buffer.from('b'))]))).toThrow(
      'interleaved',
    )
  })
})

test.each([0, 1, 125, 126, 65_535, 65_536])('encodes a client frame of %i bytes', length => {
  const payload = Buffer.alloc(length, 'x')
  const bytes = frameOf(OPCODES.binary, true, payload.subarray(0, 1), payload.subarray(1))
  expect(bytes[1]! & 0x80).toBe(0x80)
  expect(new ServerReader().read(bytes)).toEqual([{ opcode: OPCODES.binary, payload }])
})

describe('a handshake', () => {
  const opening = handshake('p')
  const right = { upgrade: 'WebSocket', 'sec-websocket-accept': opening.accept, 'sec-websocket-protocol': 'p' }

  test('is verified with the accept key that only the server can compute', () => {
    expect(proves(right, opening)).toBeUndefined()
    expect(proves({ ...right, 'sec-websocket-accept': handshake('p').accept }, opening)).toContain('handshake')
    expect(proves({ ...right, upgrade: 'h2c' }, opening)).toContain('handshake')
  })

  test('requires the requested subprotocol', () => {
    const { 'sec-websocket-protocol': _none, ...without } = right
    expect(proves(without, opening)).toContain('subprotocol none, not p')
  })
})

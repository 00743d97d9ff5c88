import type { Duplex } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { message } from '../helpers/port-forward.ts'
import { startSilentServer } from '../helpers/silent-server.ts'
import { FrameReader, frame } from '../helpers/websocket.ts'
import { EDGE, KubePlace, POD, portIn } from './kube-place.ts'

let place: KubePlace
beforeEach(() => {
  place = new KubePlace()
})
afterEach(() => place[Symbol.asyncDispose]())

describe('failures on the way to a pod', () => {
  async function ask(say: (socket: Duplex) => void, protocol?: string) {
    const forwarding = { portOf: () => undefined, say, ...(protocol === undefined ? {} : { protocol }) }
    await using cluster = await place.cluster([EDGE, POD], { forwarding })
    const { code, err } = await place.gwctl(cluster, 'dump', '-q', '--kube', 'edge')
    expect(code).toBe(4)
    return err
  }
  const answer = (text: string) => message(0, `HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n${text}`)

  test('nothing listens on the port', async () => {
    await using cluster = await place.cluster([EDGE, POD])
    const { code, err } = await place.gwctl(cluster, 'dump', '--kube', 'edge', '--admin-port', '15001')
    expect(err).toContain('nothing answers on port 15001 of pod shop/edge-1: connection refused.')
    expect(err).toContain('--admin-port')
    expect(code).toBe(4)
  })

  test('an error with terminal control characters is escaped', async () => {
    const err = await ask(socket => socket.write(message(1, `no such \u001b[31mpod\u0007${'x'.repeat(9000)}`)))
    expect(err).toContain('no such ␛[31mpod␇x')
    expect(err.length).toBeLessThan(1000)
  })

  test('an error in several fragments', async () => {
    const err = await ask(socket => {
      socket.write(Buffer.from([0x02, 4, 1, 0x6e, 0x6f, 0x70]))
      socket.write(Buffer.from([0x89, 1, 0x21]))
      socket.write(Buffer.from([0x80, 1, 0x65]))
    })
    expect(err).toContain(': nope.')
  })

  test('the pod is gone by the time it is contacted', async () => {
    await using cluster = await place.cluster([EDGE, POD], { gone: ['edge-1'] })
    const { code, err } = await place.gwctl(cluster, 'dump', '--kube', 'edge')
    expect(err).toContain('pod shop/edge-1 is gone: pods "edge-1" not found.')
    expect(err).toContain('its successor has another name')
    expect(code).toBe(4)
  })

  test('the admin server of the pod accepts the connection but never answers', async () => {
    await using server = await startSilentServer()
    await using cluster = await place.cluster([EDGE, POD], { own: { 'edge-1': portIn(server.address) } })
    const { code, err } = await place.gwctl(cluster, 'dump', '--kube', 'edge', '--timeout', '500ms')
    expect(code).toBe(5)
    expect(err).toContain('pod shop/edge-1 does not answer within 0.5 s.')
    expect(err).toContain('--admin-port')
  })

  test('the API server never answers', async () => {
    await using cluster = await place.cluster([EDGE, POD], { hangs: true })
    const { code, err } = await place.gwctl(cluster, 'dump', '--kube', 'edge', '--timeout', '50ms')
    expect(code).toBe(5)
    expect(err).toContain('gave no answer within 0.05 s.\nIs it the right --context, and is the cluster up?')
  })

  test('the node is unreachable', async () => {
    await using cluster = await place.cluster([EDGE, POD], { forwarding: undefined as never })
    const { code, err } = await place.gwctl(cluster, 'dump', '--kube', 'edge')
    expect(err).toContain('the API server refused to forward to pod shop/edge-1 (500): no node.')
    expect(code).toBe(4)
  })

  test.each<[string, (socket: Duplex) => void, string]>([
    ['connection dropped before the response', socket => socket.destroy(), 'no gateway answers at pod shop/edge-1'],
    [
      'connection closed before the response',
      socket => socket.end(frame(Buffer.of(3, 0xe8), { opcode: 8 })),
      'no gateway answers at pod shop/edge-1',
    ],
    [
      'connection dropped mid-response',
      socket => void socket.write(answer('{'), () => socket.destroy()),
      'the connection to pod shop/edge-1 broke',
    ],
    [
      'connection closed mid-response',
      socket =>
        void socket.write(Buffer.concat([answer('{'), frame(Buffer.alloc(0), { opcode: 8 }), message(0, 'more')])),
      'the connection to pod shop/edge-1 broke',
    ],
    [
      'a frame with an invalid length',
      socket => void socket.write(Buffer.from([0x82, 127, ...Array(8).fill(255)])),
      'invalid frame length',
    ],
    [
      'an oversized ping',
      socket => void socket.write(Buffer.from([0x89, 126, 0xff, 0xff])),
      'control frame is too long',
    ],
    ['masked frames', socket => void socket.write(frame(Buffer.of(0, 1), { masked: true })), 'masked'],
    ['an extension bit', socket => void socket.write(Buffer.from([0xc2, 1, 0])), 'extension'],
    ['an unknown opcode', socket => void socket.write(Buffer.from([0x83, 1, 0])), 'an unknown opcode (3)'],
    ['a continuation without a message', socket => void socket.write(Buffer.from([0x80, 1, 0])), 'interleaved'],
    [
      'a response that is not HTTP',
      socket => void socket.write(message(0, 'hello\r\n')),
      'no gateway answers at pod shop/edge-1',
    ],
  ])('%s', async (_what, say, words) => {
    expect(await ask(say)).toContain(words)
  })

  test('an unexpected subprotocol', async () => {
    expect(await ask(() => {}, 'v1.echo')).toContain('it speaks the subprotocol v1.echo, not v4.channel.k8s.io')
  })

  test('no kubeconfig', async () => {
    const io = memoryIo({ cwd: place.folder, env: { HOME: place.folder } })
    expect(await main(['dump', '--kube'], io, new URL('../../', import.meta.url))).toBe(4)
    expect(io.stderr.text).toContain('there is no kubeconfig, and this is no pod of a cluster.')
    expect(io.stderr.text).toContain('--kubeconfig FILE')
  })

  test('an unreachable cluster', async () => {
    await using cluster = await place.cluster([])
    const { code, err } = await place.gwctl({ ...cluster, url: 'https://localhost:1' }, 'dump', '--kube')
    expect(err).toContain('connection refused')
    expect(code).toBe(4)
  })

  test('an idle connection is kept alive with pings', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      let pings = 0
      const forwarding = {
        portOf: () => undefined,
        say: (socket: Duplex) => {
          const frames = new FrameReader()
          socket.on('data', chunk => {
            pings += frames.read(chunk).filter(({ opcode }) => opcode === 9).length
            if (pings > 0) socket.write(message(0, 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nready'))
          })
        },
      }
      await using cluster = await place.cluster([EDGE, POD], { forwarding })
      const asked = place.start(cluster, ['health', '--kube', 'edge'])
      while (pings === 0) {
        await new Promise(setImmediate)
        vi.advanceTimersByTime(10_000)
      }
      await asked.ended
      expect(pings).toBeGreaterThan(0)
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  test('a huge frame is read in pieces', async () => {
    const body = `{"binds":[],"routes":[],"backends":[],"config":"${'x'.repeat(2_000_000)}"}`
    const forwarding = {
      portOf: () => undefined,
      say: (socket: Duplex) => {
        const bytes = message(0, `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
        for (let i = 0; i < bytes.length; i += 50_001) socket.write(bytes.subarray(i, i + 50_001))
      },
    }
    await using cluster = await place.cluster([EDGE, POD], { forwarding })
    const { code, out } = await place.gwctl(cluster, 'dump', '-o', 'json', '--kube', 'edge')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toEqual(JSON.parse(body))
  })
})

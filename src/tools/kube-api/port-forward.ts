import { Duplex } from 'node:stream'
import { Failure } from '../../diagnostics/failure.ts'
import { visible } from '../../diagnostics/visible.ts'
import { FrameReader, frameOf, type MessagePart, OPCODES } from '../../http/websocket-frames.ts'
import type { ApiClient, Refusal } from './api-client.ts'

export interface PodPort {
  readonly namespace: string
  readonly pod: string
  readonly port: number
}

/**
 * The WebSocket subprotocol of kubelets and container runtimes, which API servers pass through, including newer ones.
 * The other one, SPDY in a WebSocket, multiplexes connections, which is not needed here.
 */
const PROTOCOL = 'v4.channel.k8s.io'
/** The channels of the single requested port. Each begins with the port, two bytes, little-endian. */
const DATA = 0
const ERROR = 1
/** ms. A profile is silent for minutes, and load balancers on the path close connections that are idle for one. */
const PING = 10_000
/** Bytes of the peer's error message. */
const MAX_WORDS = 4096

/** Connects to a port of a pod through the API server and the pod's node. Throws a Failure. */
export async function forwardPort(client: ApiClient, to: PodPort): Promise<Duplex> {
  const path = `/api/v1/namespaces/${encodeURIComponent(to.namespace)}/pods/${encodeURIComponent(to.pod)}/portforward`
  const reply = await client.upgrade(`${path}?ports=${to.port}`, PROTOCOL)
  if ('refusal' in reply) throw refused(to, reply.refusal)
  return new ForwardedPort(reply.stream, reply.head, to)
}

/** The bytes of one connection. Any abnormal end destroys it with a Failure. */
class ForwardedPort extends Duplex {
  readonly #socket: Duplex
  readonly #to: PodPort
  readonly #frames = new FrameReader()
  readonly #pings: NodeJS.Timeout
  /** Bytes of its port number that a channel has yet to send. */
  readonly #announced: [number, number] = [2, 2]
  #channel: number | undefined
  #words = ''
  /** Anything after the end is ignored. */
  #ended = false

  constructor(socket: Duplex, head: Buffer, to: PodPort) {
    super({ allowHalfOpen: true })
    this.#socket = socket
    this.#to = to
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('error', error => this.destroy(broken(to, error.message)))
    socket.on('close', () => this.#over())
    if (head.length > 0) socket.unshift(head)
    this.#pings = setInterval(() => this.#control(OPCODES.ping), PING).unref()
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(frameOf(OPCODES.binary, true, Buffer.of(DATA), chunk), done)
  }

  /** The protocol has no half-close, so this closes both directions; HTTP exchanges are complete by then. */
  override _final(done: () => void): void {
    clearInterval(this.#pings)
    this.#socket.end(frameOf(OPCODES.close, true, NORMAL), () => done())
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearInterval(this.#pings)
    this.#socket.destroy()
    done(error)
  }

  #take(chunk: Buffer): void {
    try {
      for (const part of this.#frames.read(chunk)) {
        if (this.destroyed || this.#ended) return
        this.#part(part)
      }
    } catch (error) {
      this.destroy(broken(this.#to, (error as Error).message))
    }
  }

  #part(part: MessagePart): void {
    if (part.opcode === OPCODES.close) this.#over()
    else if (part.opcode === OPCODES.ping) this.#control(OPCODES.pong, part.data)
    else if (part.opcode !== OPCODES.pong) this.#content(part)
  }

  #content({ first, last, data }: MessagePart): void {
    if (first) this.#channel = data[0]
    const payload = this.#unannounced(first ? data.subarray(1) : data)
    if (this.#channel === DATA && payload.length > 0 && !this.push(payload)) this.#socket.pause()
    if (this.#channel !== ERROR) return
    this.#words = (this.#words + payload.toString()).slice(0, MAX_WORDS)
    if (last && this.#words !== '') this.destroy(unreachablePort(this.#to, this.#words))
  }

  /** A peer that pings faster than it reads does not get every answer (RFC 6455 section 5.5.3). */
  #control(opcode: number, ...payload: Buffer[]): void {
    const { writable, writableNeedDrain } = this.#socket
    if (writable && !writableNeedDrain) this.#socket.write(frameOf(opcode, true, ...payload))
  }

  /** Strips the port at the beginning of a channel. */
  #unannounced(payload: Buffer): Buffer {
    const channel = this.#channel
    if (channel !== DATA && channel !== ERROR) return payload
    const skipped = Math.min(this.#announced[channel], payload.length)
    this.#announced[channel] -= skipped
    return payload.subarray(skipped)
  }

  /** No more data will arrive. Whether the data is complete is for its reader to decide. */
  #over(): void {
    if (this.destroyed || this.#ended) return
    this.#ended = true
    this.push(null)
    this.#socket.resume()
  }
}

/** The status of a normal close (RFC 6455 section 7.4.1). */
const NORMAL = Buffer.of(0x03, 0xe8)

function refused(to: PodPort, { status, message }: Refusal): Failure {
  const { namespace, pod } = to
  if (status === 403) {
    return new Failure(
      'unreachable',
      `these credentials may not reach the ports of pod ${namespace}/${pod}: ${message}.`,
      {
        help: `They need the verbs create and get on pods/portforward in namespace ${namespace}; docs/cluster-access.md has a Role.`,
      },
    )
  }
  if (status === 404) {
    return new Failure('unreachable', `pod ${namespace}/${pod} is gone: ${message}.`, {
      help: 'Ask again: its successor has another name.',
    })
  }
  return new Failure(
    'unreachable',
    `the API server refused to forward to pod ${namespace}/${pod} (${status}): ${message}.`,
  )
}

function unreachablePort({ namespace, pod, port }: PodPort, words: string): Failure {
  const [refusal] = /connection refused/.exec(words) ?? []
  const why = refusal ?? visible(words.trim()).slice(0, 400)
  return new Failure('unreachable', `nothing answers on port ${port} of pod ${namespace}/${pod}: ${why}.`, {
    help: 'Is its admin server on another port? Name it with --admin-port. It has to listen on localhost or on all addresses of the pod.',
  })
}

function broken({ namespace, pod }: PodPort, why: string): Failure {
  return new Failure('unreachable', `the connection through the API server to pod ${namespace}/${pod} broke: ${why}.`)
}

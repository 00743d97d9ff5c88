import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { passOn } from '../../http/incoming-body.ts'
import { TrailingBody } from '../../http/trailing-body.ts'
import { bodyFailure, requestFailure } from './failure.ts'
import { checkField } from './http1-request.ts'

/** Chunks up to this size are sent with their framing as one string. */
const ONE_WRITE = 4096
/** From this size on, more of a body is likely to be there in the same turn. */
const GATHERED = 32 * 1024
/** Bytes that may be queued until the end of a turn. */
const AHEAD = 256 * 1024

/** Writes a streamed request body, chunked or with an announced length, with back-pressure. */
export class BodySender {
  readonly #body: Readable
  /** Announced bytes not sent yet; -1 if chunked. */
  #left = -1
  #socket: Socket | undefined
  #fail: (error: Error) => void = () => {}
  /** Why the body failed before `begin`. */
  #broken: Error | undefined
  /** The socket is corked until the end of the turn. */
  #gathering = false
  finished = false

  /** Observes the body's end from now on, but reads nothing before `begin`. */
  constructor(body: Readable) {
    this.#body = body
    if (body.destroyed && !body.readableEnded) this.#broken = requestFailure('request body ended early')
    body.on('error', this.#onBroken).on('close', this.#onBroken)
  }

  /** The length announced in the head; -1 for chunks. */
  announce(length: number): void {
    this.#left = length
  }

  begin(socket: Socket, fail: (error: Error) => void): void {
    this.#socket = socket
    this.#fail = fail
    if (this.#broken !== undefined) {
      process.nextTick(fail, this.#broken)
      return
    }
    if (this.#body.readableEnded) {
      this.#onEnd()
      return
    }
    socket.on('drain', this.#onDrain)
    this.#body.on('data', this.#onData).on('end', this.#onEnd).resume()
  }

  /** Detaches from the body; its owner handles the rest. */
  stop(): void {
    const wasReading = this.#socket !== undefined && !this.finished
    this.#sendGathered()
    this.#fail = () => {}
    this.#socket?.off('drain', this.#onDrain)
    this.#body.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onBroken)
    // Keeps its listeners: a late error must not crash the process.
    if (wasReading) this.#body.pause()
  }

  #onData = (chunk: Buffer): void => {
    const socket = this.#socket as Socket
    const size = chunk.length
    if (size === 0) return
    if (this.#left < 0) {
      const frame = `${size.toString(16)}\r\n`
      if (size <= ONE_WRITE) socket.write(`${frame}${chunk.toString('latin1')}\r\n`, 'latin1')
      else {
        this.#gather(socket)
        socket.write(frame, 'latin1')
        passOn(this.#body, chunk, socket)
        socket.write('\r\n', 'latin1')
      }
    } else if (size > this.#left) {
      this.#fail(requestFailure('request body longer than its content-length'))
      return
    } else {
      this.#left -= size
      // TLS would copy the pieces together first.
      if (size >= GATHERED && this.#left > 0 && !(socket instanceof TLSSocket)) this.#gather(socket)
      passOn(this.#body, chunk, socket)
    }
    // No back-pressure for what the system accepted at once.
    if (socket.writableLength >= (this.#gathering ? AHEAD : socket.writableHighWaterMark)) this.#body.pause()
  }

  /** Writes what arrives in this turn as one piece. */
  #gather(socket: Socket): void {
    if (this.#gathering) return
    this.#gathering = true
    socket.cork()
    setImmediate(this.#sendGathered)
  }

  #sendGathered = (): void => {
    if (!this.#gathering) return
    this.#gathering = false
    const socket = this.#socket as Socket
    socket.uncork()
    if (socket.writableLength >= socket.writableHighWaterMark) this.#body.pause()
  }

  #onDrain = (): void => {
    this.#body.resume()
  }

  #onEnd = (): void => {
    if (this.#left > 0) {
      this.#fail(requestFailure('request body shorter than its content-length'))
      return
    }
    let text = '0\r\n'
    try {
      const trailers = trailersOf(this.#body)
      for (let i = 0; i < trailers.length; i += 2) text += `${trailers[i]}: ${trailers[i + 1]}\r\n`
    } catch (error) {
      this.#fail(error as Error)
      return
    }
    this.finished = true
    if (this.#left < 0) this.#socket?.write(`${text}\r\n`, 'latin1')
    this.stop()
  }

  #onBroken = (error?: Error): void => {
    if (this.finished || this.#broken !== undefined || (error === undefined && this.#body.readableEnded)) return
    this.#broken = bodyFailure(error)
    this.#fail(this.#broken)
  }
}

/** The trailers of the body. Throws GatewayError if they cannot be serialized. */
function trailersOf(body: Readable | undefined): readonly string[] {
  const fields = body instanceof TrailingBody ? body.trailers : []
  for (let i = 0; i < fields.length; i += 2) checkField(fields[i] as string, fields[i + 1] as string)
  return fields
}

import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { hostAndPort } from '../../http/authority.ts'
import { GatewayError } from '../../http/errors.ts'
import type { Target, Tunnel } from '../../http/transport.ts'

/** Maximum bytes of the proxy's response to CONNECT. */
const MAX_HEAD = 16 * 1024

/**
 * A connection through an HTTP CONNECT proxy (RFC 9110 9.3.6). It is writable at once; emits `connect` when the proxy
 * has opened the tunnel, or `error` with a GatewayError if it refuses.
 */
export class TunnelSocket extends Duplex {
  readonly #raw: Socket
  #open = false
  #head = Buffer.alloc(0)
  #waiting: (() => void) | undefined

  /** `ready`: the event of `raw` after which the proxy can be used. */
  constructor(raw: Socket, ready: 'connect' | 'secureConnect', to: Target, fields: ReturnType<Tunnel['fields']>) {
    super({ allowHalfOpen: false })
    this.#raw = raw
    if (fields instanceof Promise) fields.catch((error: Error) => this.destroy(error))
    raw.once(ready, () => {
      if (!(fields instanceof Promise)) raw.write(connectHead(to, fields), 'latin1')
      else fields.then(found => raw.write(connectHead(to, found), 'latin1')).catch(() => {})
    })
    raw.on('data', this.#onHead)
    raw.on('error', error => this.destroy(error))
    raw.on('end', () => {
      if (this.#open) this.push(null)
      else this.destroy(refused('the connection was closed'))
    })
    raw.on('close', () => this.destroy())
  }

  override _read(): void {
    if (this.#open) this.#raw.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#open) this.#raw.write(chunk, done)
    else this.#waiting = () => this.#raw.write(chunk, done)
  }

  override _final(done: () => void): void {
    if (this.#open) this.#raw.end(done)
    else done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#raw.destroy()
    done(error)
  }

  #onHead = (chunk: Buffer): void => {
    this.#head = Buffer.concat([this.#head, chunk])
    const end = this.#head.indexOf('\r\n\r\n')
    if (end < 0) {
      if (this.#head.length > MAX_HEAD) this.destroy(refused('its answer is too long'))
      return
    }
    const status = /^HTTP\/1\.[01] (\d{3})(?: |\r|$)/.exec(this.#head.toString('latin1', 0, 64))?.[1]
    if (status === undefined || !status.startsWith('2')) {
      this.destroy(refused(status === undefined ? 'its answer is not HTTP' : `status ${status}`))
      return
    }
    this.#begin(this.#head.subarray(end + 4))
  }

  #begin(rest: Buffer): void {
    const raw = this.#raw
    this.#open = true
    this.#head = Buffer.alloc(0)
    raw.off('data', this.#onHead)
    if (rest.length > 0) this.push(rest)
    raw.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) raw.pause()
    })
    this.emit('connect')
    this.#waiting?.()
    this.#waiting = undefined
  }
}

function connectHead({ host, port }: Target, fields: readonly string[]): string {
  const authority = hostAndPort(host, port)
  let text = `CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n`
  for (let i = 0; i < fields.length; i += 2) text += `${fields[i]}: ${fields[i + 1]}\r\n`
  return `${text}\r\n`
}

function refused(why: string): GatewayError {
  return new GatewayError('upstreamFailed', { detail: `the proxy refused the tunnel: ${why}`, retryable: true })
}

import { GatewayError } from '../../http/errors.ts'
import { ChunkFraming, DATA, TRAILERS } from '../chunk-framing.ts'
import { CLASSES, TEXT, TOKEN } from '../http1-syntax.ts'
import { protocolFailure } from './failure.ts'
import { dropFields, dropListed, fieldKind, listsOption } from './hop-by-hop.ts'

/** Receives one response. Any method may call `stop`, after which none is called again. */
export interface ResponseReceiver {
  /** `fields`: name, value, ..., without connection-specific ones. */
  onHead(status: number, fields: string[]): void
  /** Bytes `from` to `to`; the memory is reused after the call. */
  onBody(bytes: Buffer, from: number, to: number): void
  /** The message is complete. `reusable`: the connection is at the start of the next one. */
  onEnd(trailers: string[] | undefined, reusable: boolean): void
  /** The server switched protocols; the bytes `from` to `to` belong to the new one. */
  onSwitch(status: number, fields: string[], bytes: Buffer, from: number, to: number): void
}

const MAX_HEAD = 64 * 1024
const MAX_FIELDS = 256
const MAX_INTERIM = 16
const MAX_TRAILERS = 16 * 1024
/** Chunks up to this size are joined with their neighbors in the same read. */
const JOINED = 4096

const END = Buffer.from('\r\n\r\n')
const CR = 13
const LF = 10

type State = typeof STOPPED | typeof HEAD | typeof LENGTH | typeof UNTIL_CLOSE | typeof CHUNKS
const STOPPED = 0
const HEAD = 1
const LENGTH = 2
const UNTIL_CLOSE = 3
const CHUNKS = 4

/**
 * Parses HTTP/1.1 responses and rejects whatever two parsers could read differently: RFC 9112 without its tolerances
 * (no folded lines, no bare LF, no repeated or listed `content-length`, no `transfer-encoding` but `chunked`, and never
 * both). Rejections are thrown as GatewayError.
 */
export class ResponseParser {
  readonly #receiver: ResponseReceiver
  #state: State = STOPPED
  #headOnly = false
  #switchable: 'upgrade' | 'connect' | undefined
  /** An incomplete head or trailer section. */
  #pending: Buffer | undefined
  #pendingSize = 0
  /** Remaining bytes of the message. */
  #left = 0
  readonly #framing = new ChunkFraming(protocolFailure)
  #interim = 0
  /** At least one byte of the response has arrived. */
  began = false
  /** The `keep-alive` field of the last response. */
  keepAlive: string | undefined

  // Facts of the head being read.
  #fields: string[] = []
  #contentLength = -1
  #chunked = false
  #http10 = false
  #close = false
  #connection: string | undefined
  #upgrade = false

  constructor(receiver: ResponseReceiver) {
    this.#receiver = receiver
  }

  /** The next bytes are the response to this method. `upgrade`: the request asked for another protocol. */
  start(method: string, upgrade: boolean): void {
    this.#state = HEAD
    this.#headOnly = method === 'HEAD'
    this.#switchable = upgrade ? 'upgrade' : method === 'CONNECT' ? 'connect' : undefined
    this.#interim = 0
    this.began = false
  }

  stop(): void {
    this.#state = STOPPED
    this.#pending = undefined
  }

  /** Remaining bytes; 0 if unknown. */
  get left(): number {
    if (this.#state === LENGTH) return this.#left
    return this.#state === CHUNKS && this.#framing.state === DATA ? this.#framing.left : 0
  }

  /** Parses the bytes `from` to `to`. `bytes` may be overwritten. */
  execute(bytes: Buffer, from: number, to: number): void {
    this.began = true
    let at = from
    if (this.#state === HEAD) {
      at = this.#heads(bytes, from, to)
      if (at < 0) return
    }
    switch (this.#state) {
      case LENGTH:
        this.#counted(bytes, at, to)
        break
      case UNTIL_CLOSE:
        if (at < to) this.#receiver.onBody(bytes, at, to)
        break
      case STOPPED:
        break
      default:
        this.#chunks(bytes, at, to)
    }
  }

  /** The server closed its side. */
  finish(): void {
    if (this.#state !== UNTIL_CLOSE) throw protocolFailure('connection closed before the end')
    this.#end(undefined, false)
  }

  /** Parses heads up to the final one. Returns where the body starts, or -1 if more bytes are needed. */
  #heads(bytes: Buffer, from: number, to: number): number {
    let at = from
    while (this.#state === HEAD) {
      if (at === to) return -1
      let end: number
      let status: number
      if (this.#pending === undefined) {
        end = endOf(bytes, at, to)
        if (end < 0) {
          this.#keep(bytes, at, to, MAX_HEAD)
          return -1
        }
        if (end - at > MAX_HEAD) throw protocolFailure('head too large')
        status = this.#head(bytes, at, end)
      } else {
        const before = this.#pendingSize
        const searched = Math.max(0, before - 3)
        const pending = this.#keep(bytes, at, to, MAX_HEAD)
        const stop = endOf(pending, searched, this.#pendingSize)
        if (stop < 0) return -1
        this.#pending = undefined
        status = this.#head(pending, 0, stop)
        end = at + stop - before
      }
      at = end
      this.#respond(status, bytes, at, to)
    }
    return at
  }

  #keep(bytes: Buffer, from: number, to: number, limit: number): Buffer {
    const before = this.#pending === undefined ? 0 : this.#pendingSize
    const size = before + to - from
    // The read may extend far beyond the head: only a head that has not ended yet is too large here.
    if (before > limit) throw protocolFailure('head too large')
    let pending = this.#pending
    if (pending === undefined || pending.length < size) {
      const larger = Buffer.allocUnsafe(Math.max(1024, size * 2))
      pending?.copy(larger, 0, 0, before)
      pending = larger
    }
    bytes.copy(pending, before, from, to)
    this.#pending = pending
    this.#pendingSize = size
    return pending
  }

  /** Parses one whole head into the fields above; returns the status. */
  #head(bytes: Buffer, from: number, to: number): number {
    if (to - from < 16) throw protocolFailure('no status line')
    const text = bytes.toString('latin1', from, to)
    const minor = bytes[from + 7]
    if (!text.startsWith('HTTP/1.') || (minor !== 48 && minor !== 49) || bytes[from + 8] !== 32) {
      throw protocolFailure('no status line')
    }
    let status = 0
    let at = from + 9
    for (; at < from + 12; at++) {
      const digit = (bytes[at] as number) - 48
      if (digit < 0 || digit > 9) throw protocolFailure('no status code')
      status = status * 10 + digit
    }
    if (status < 100) throw protocolFailure('no status code')
    if (bytes[at] === 32) while ((CLASSES[bytes[at] as number] as number) & TEXT) at++
    if (bytes[at] !== CR || bytes[at + 1] !== LF) throw protocolFailure('malformed status line')
    this.#contentLength = -1
    this.#chunked = false
    this.#http10 = minor === 48
    this.#close = this.#http10
    this.#connection = undefined
    this.#upgrade = false
    this.keepAlive = undefined
    this.#fields = []
    this.#readFields(bytes, text, from, at + 2, to - 2, false)
    if (this.#http10 && this.#chunked) throw protocolFailure('transfer-encoding in HTTP/1.0')
    if (this.#chunked && this.#contentLength >= 0) throw protocolFailure('both content-length and transfer-encoding')
    return status
  }

  /** Parses the field lines from `at` to `to`; `text` is `bytes` from `origin` on. */
  #readFields(bytes: Buffer, text: string, origin: number, at: number, to: number, trailing: boolean): void {
    const fields = this.#fields
    for (let count = 0; at < to; count++) {
      if (count === MAX_FIELDS) throw protocolFailure('too many fields')
      const start = at
      while ((CLASSES[bytes[at] as number] as number) & TOKEN) at++
      if (at === start || bytes[at] !== 58) throw protocolFailure('malformed field name')
      const name = text.slice(start - origin, at - origin)
      at++
      // Some parsers treat a tab around a value as part of it, which can change the framing.
      let doubtful = false
      for (; bytes[at] === 32 || bytes[at] === 9; at++) if (bytes[at] === 9) doubtful = true
      const first = at
      while ((CLASSES[bytes[at] as number] as number) & TEXT) at++
      let last = at
      for (; last > first && (bytes[last - 1] === 32 || bytes[last - 1] === 9); last--) {
        if (bytes[last - 1] === 9) doubtful = true
      }
      if (bytes[at] !== CR || bytes[at + 1] !== LF) throw protocolFailure('malformed field value')
      at += 2
      const value = text.slice(first - origin, last - origin)
      const kind = fieldKind(name)
      if (kind === 'keep' || kind === 'expect') fields.push(name, value)
      else if (trailing) throw protocolFailure(`${name.toLowerCase()} in trailers`)
      else if (doubtful) throw protocolFailure(`malformed ${name.toLowerCase()}`)
      else this.#field(kind, name, value)
    }
  }

  #field(kind: Exclude<ReturnType<typeof fieldKind>, 'keep' | 'expect'>, name: string, value: string): void {
    switch (kind) {
      case 'content-length':
        if (this.#contentLength >= 0) throw protocolFailure('repeated content-length')
        if (!/^\d{1,15}$/.test(value)) throw protocolFailure('malformed content-length')
        this.#contentLength = Number(value)
        this.#fields.push(name, value)
        break
      case 'transfer-encoding':
        if (this.#chunked || value.toLowerCase() !== 'chunked') throw protocolFailure('unsupported transfer-encoding')
        this.#chunked = true
        break
      case 'connection':
        this.#connection = this.#connection === undefined ? value : `${this.#connection},${value}`
        break
      case 'hop':
        if (name.length === 7) this.#upgrade = true
        else if (name.length === 10) this.keepAlive = value
        if (name.length === 7 && this.#switchable !== undefined) this.#fields.push(name, value)
        break
      case 'host':
        this.#fields.push(name, value)
    }
  }

  /** Decides what follows a head. */
  #respond(status: number, bytes: Buffer, at: number, to: number): void {
    const fields = this.#fields
    const options = this.#connection
    if (options !== undefined && listsOption(options, 'close')) this.#close = true
    if (this.#switchable === 'connect' && status >= 200 && status < 300) {
      this.stop()
      this.#receiver.onSwitch(status, fields, bytes, at, to)
      return
    }
    if (status === 101) {
      if (
        this.#switchable !== 'upgrade' ||
        !this.#upgrade ||
        options === undefined ||
        !listsOption(options, 'upgrade')
      ) {
        throw new GatewayError('upgradeFailed', { detail: 'unexpected switch of protocols' })
      }
      fields.push('connection', options)
      this.stop()
      this.#receiver.onSwitch(status, fields, bytes, at, to)
      return
    }
    if (status < 200) {
      if (this.#http10) throw protocolFailure('interim response in HTTP/1.0')
      if (this.#chunked || this.#contentLength > 0) throw protocolFailure('body in an interim response')
      if (++this.#interim > MAX_INTERIM) throw protocolFailure('too many interim responses')
      return
    }
    if (this.#upgrade && this.#switchable !== undefined) dropFields(fields, name => name === 'upgrade')
    if (options !== undefined) dropListed(fields, options)
    const length = this.#contentLength
    if (this.#headOnly || status === 204 || status === 304) {
      if (at < to) throw protocolFailure('bytes after the end')
      // A broken server may still send an announced body, whatever the method and status: it must not become the next
      // request's response.
      if (this.#chunked || length > 0) this.#close = true
      this.#state = LENGTH
      this.#left = 0
      this.#receiver.onHead(status, fields)
      if (this.#is(LENGTH)) this.#end(undefined, !this.#close)
      return
    }
    if (this.#chunked) {
      this.#state = CHUNKS
      this.#framing.start()
    } else if (length >= 0) {
      // Thrown before the head is passed on, so that the failure can still become a reply.
      if (to - at > length) throw protocolFailure('bytes after the end')
      this.#state = LENGTH
      this.#left = length
    } else this.#state = UNTIL_CLOSE
    this.#receiver.onHead(status, fields)
  }

  #counted(bytes: Buffer, at: number, to: number): void {
    const size = to - at
    if (size > this.#left) throw protocolFailure('bytes after the end')
    this.#left -= size
    if (size > 0) this.#receiver.onBody(bytes, at, to)
    if (this.#left === 0 && this.#is(LENGTH)) this.#end(undefined, !this.#close)
  }

  /** Small chunks that arrived in one read are joined. */
  #chunks(bytes: Buffer, at: number, to: number): void {
    const framing = this.#framing
    let from = at
    let filled = at
    while (at < to) {
      const { state } = framing
      if (state === DATA) {
        const size = Math.min(framing.left, to - at)
        if (filled > from && (size > JOINED || filled - from > 4 * JOINED)) {
          this.#receiver.onBody(bytes, from, filled)
          if (this.#is(STOPPED)) return
          from = filled = at
        }
        if (filled === from) from = filled = at
        if (filled !== at) bytes.copyWithin(filled, at, at + size)
        filled += size
        at += size
        framing.took(size)
        continue
      }
      if (state === TRAILERS) {
        if (filled > from) {
          this.#receiver.onBody(bytes, from, filled)
          if (this.#is(STOPPED)) return
        }
        this.#trailers(bytes, at, to)
        return
      }
      framing.next(bytes[at] as number)
      at++
    }
    if (filled > from) this.#receiver.onBody(bytes, from, filled)
  }

  #trailers(bytes: Buffer, at: number, to: number): void {
    if (this.#pending === undefined && to - at >= 2 && bytes[at] === CR) {
      if (bytes[at + 1] !== LF) throw protocolFailure('malformed end')
      if (to - at > 2) throw protocolFailure('bytes after the end')
      this.#end(undefined, !this.#close)
      return
    }
    const pending = this.#keep(bytes, at, to, MAX_TRAILERS)
    const size = this.#pendingSize
    if (size > MAX_TRAILERS) throw protocolFailure('trailers too large')
    let end = 2
    if (pending[0] === CR) {
      if (size < 2) return
      if (pending[1] !== LF) throw protocolFailure('malformed end')
    } else {
      end = endOf(pending, 0, size)
      if (end < 0) return
    }
    if (end < size) throw protocolFailure('bytes after the end')
    this.#pending = undefined
    this.#fields = []
    this.#readFields(pending, pending.toString('latin1', 0, end), 0, 0, end - 2, true)
    this.#end(this.#fields.length === 0 ? undefined : this.#fields, !this.#close)
  }

  #end(trailers: string[] | undefined, reusable: boolean): void {
    this.stop()
    this.#receiver.onEnd(trailers, reusable)
  }

  /** The state after a receiver has run, which may have called `stop`. */
  #is(state: State): boolean {
    return this.#state === state
  }
}

/** The offset after the first empty line at or after `from`; -1 if there is none before `to`. */
function endOf(bytes: Buffer, from: number, to: number): number {
  const at = bytes.indexOf(END, from)
  return at < 0 || at + 4 > to ? -1 : at + 4
}

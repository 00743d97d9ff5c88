import { contentCoding, decodeInto } from '../../../calls/content-coding.ts'
import { FrameReader, frame } from '../../../calls/grpc-frames.ts'
import type { BodyPassage } from '../../../calls/step.ts'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange } from '../../../http/exchange.ts'
import { keepChunk } from '../../../http/keep-chunk.ts'
import type { ChunkSink } from '../../../http/transport.ts'
import { cardWith } from '../../../protobuf/a2a.ts'
import { unreadable } from './card-head.ts'
import type { Binding } from './methods.ts'
import { type CardPlace, placeOf, rewritten } from './place.ts'

/** Card members that contain the agent's URLs, in every version of A2A. */
const INTERFACES = ['supportedInterfaces', 'additionalInterfaces'] as const

/**
 * Buffers a card, up to `limit` bytes, and rewrites it for clients. A truncated one would direct them past the gateway.
 */
export function cardPassage(x: Exchange, binding: Binding, limit: number): BodyPassage {
  const { headers } = x.response as NonNullable<Exchange['response']>
  const said = headers.get('content-encoding')
  const coding = contentCoding(said)
  if (coding === 'unknown') throw unreadable(`its content encoding is ${said}`)
  headers.delete('content-encoding')
  const place = placeOf(x)
  return {
    around(to) {
      const whole = new WholeCard(to, limit, bytes => forClients(bytes, binding, place))
      return coding === undefined ? whole : decodeInto(whole, coding, 'upstreamFailed')
    },
  }
}

class WholeCard implements ChunkSink {
  readonly #to: ChunkSink
  readonly #limit: number
  readonly #rewrite: (bytes: Buffer) => Buffer
  #chunks: Buffer[] | undefined = []
  #size = 0

  constructor(to: ChunkSink, limit: number, rewrite: (bytes: Buffer) => Buffer) {
    this.#to = to
    this.#limit = limit
    this.#rewrite = rewrite
  }

  write(chunk: Buffer): boolean {
    if (!this.#chunks) return true
    this.#size += chunk.length
    if (this.#size > this.#limit) this.fail(unreadable(`it is longer than ${this.#limit} bytes`))
    else keepChunk(this.#chunks, chunk)
    return true
  }
  end(trailers?: readonly string[]): void {
    if (!this.#chunks) return
    let card: Buffer
    try {
      card = this.#rewrite(Buffer.concat(this.#chunks, this.#size))
    } catch (error) {
      this.fail(error instanceof GatewayError ? error : unreadable('it is damaged', error))
      return
    }
    this.#chunks = undefined
    if (card.length > 0) this.#to.write(card)
    this.#to.end(trailers)
  }
  fail(error: Error): void {
    if (!this.#chunks) return
    this.#chunks = undefined
    this.#to.fail(error)
  }
  onDrain(then: () => void): void {
    this.#to.onDrain(then)
  }
}

function forClients(bytes: Buffer, binding: Binding, place: CardPlace): Buffer {
  if (binding === 'grpc' || binding === 'grpc 0.3') return framesFor(bytes, binding, place)
  const whole = parsed(bytes)
  const card = binding === 'jsonrpc' && isRecord(whole) ? whole.result : whole
  if (!isRecord(card)) return bytes
  rewriteCard(card, place)
  return Buffer.from(JSON.stringify(whole))
}

function framesFor(bytes: Buffer, binding: Binding, place: CardPlace): Buffer {
  const reader = new FrameReader(bytes.length)
  reader.push(bytes)
  const frames: Buffer[] = []
  for (let next = reader.next(); next; next = reader.next()) {
    if (!Buffer.isBuffer(next)) throw unreadable(next.problem)
    const version = binding === 'grpc' ? '1.0' : '0.3'
    frames.push(frame(cardWith(next, version, (url, transport) => rewritten(url, transport, place))))
  }
  if (reader.partial) throw unreadable('it is cut off')
  return Buffer.concat(frames)
}

/** Points every interface of the card to `place`, and drops the signature, which covered the original. */
function rewriteCard(card: Record<string, unknown>, place: CardPlace): void {
  if (typeof card.url === 'string') card.url = rewritten(card.url, card.preferredTransport, place)
  for (const name of INTERFACES) {
    const list = card[name]
    if (!Array.isArray(list)) continue
    for (const each of list as unknown[]) {
      if (!isRecord(each) || typeof each.url !== 'string') continue
      each.url = rewritten(each.url, each.protocolBinding ?? each.transport, place)
    }
  }
  delete card.signatures
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parsed(bytes: Buffer): unknown {
  try {
    // Clients skip a byte order mark, and so does this decoder.
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

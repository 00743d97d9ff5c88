import { type GrpcCall, type GrpcStream, grpcStream } from '../../../calls/grpc.ts'
import type { Callee } from '../../../calls/outcall.ts'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange } from '../../../http/exchange.ts'
import {
  PROCESS,
  type ProcessingRequest,
  type ProcessingResponse,
  processingRequest,
  processingResponse,
} from '../../../protobuf/ext-proc.ts'
import type { Runtime, Timer } from '../../../runtime/runtime.ts'

type Kind =
  | 'requestHeaders'
  | 'responseHeaders'
  | 'requestBody'
  | 'responseBody'
  | 'requestTrailers'
  | 'responseTrailers'

/** Receives responses of one kind; `fail` ends it. */
export interface Hearing {
  /** False applies back-pressure. */
  hear(response: ProcessingResponse): boolean | undefined
  fail(error: Error): void
}

/** ms that a service may take for a response that it owes, and to end its stream. */
const SILENCE = 10_000
const CLOSE_TIMEOUT = 1000
/** Maximum bytes of one response: a buffered body and more. */
const MAX_MESSAGE = 4 * 1024 * 1024

/** An exchange's single stream to the service. Responses are dispatched by kind. */
export class ServiceStream {
  readonly #stream: GrpcStream
  readonly #runtime: Runtime
  readonly #limit: number
  readonly #waiting = new Map<Kind, { readonly hearing: Hearing; readonly owed: boolean }>()
  #silence: Timer | undefined
  #ended: Error | undefined
  #paused = false
  #drained: (() => void)[] = []
  #refuse: (error: Error) => void = () => {}
  /** Called first for every response: those with metadata take effect before any other handler runs. */
  readonly #every: (response: ProcessingResponse) => void
  /** Sent with the next message; the metadata with all of them. */
  #preface: ProcessingRequest

  constructor(
    callee: Callee,
    { fields, preface }: { readonly fields: readonly string[]; readonly preface: ProcessingRequest },
    x: Exchange,
    runtime: Runtime,
    every: (response: ProcessingResponse) => void,
  ) {
    this.#runtime = runtime
    this.#every = every
    this.#preface = preface
    this.#limit = callee.requestTimeout ?? SILENCE
    const call: GrpcCall = {
      path: PROCESS,
      scope: 'extProc',
      what: 'processing',
      purpose: { kind: 'Policy', subtype: 'ExtProc' },
      timeout: 0,
      limit: MAX_MESSAGE,
      fields,
    }
    this.#stream = grpcStream(
      callee,
      call,
      {
        message: bytes => this.#hear(bytes),
        end: () => this.#fail(failed('no more response messages')),
        fail: error => this.#fail(failed(error.message)),
      },
      runtime,
      x,
    )
    this.#stream.onDrain(() => {
      const drained = this.#drained
      this.#drained = []
      for (const then of drained) then()
    })
  }

  /** False if the service does not keep up; `onDrain` runs once it does. */
  send(message: ProcessingRequest): boolean {
    if (this.#ended) return true
    this.#watch()
    const bytes = processingRequest.encode({ ...this.#preface, ...message })
    const { metadataContext } = this.#preface
    // As Envoy does: the service need not remember it.
    this.#preface = metadataContext === undefined ? {} : { metadataContext }
    return this.#stream.write(bytes)
  }

  /** These go with the next message too. */
  announce(fields: ProcessingRequest): void {
    this.#preface = { ...this.#preface, ...fields }
  }

  onDrain(then: () => void): void {
    if (this.#ended) then()
    else this.#drained.push(then)
  }

  /** Resolves once connected; rejects with GatewayError `extProc` if no connection is established. */
  begun(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ended) reject(this.#ended)
      this.#stream.onBegin(resolve)
      this.#refuse = reject
    })
  }

  /** Call after `hear` has returned false. */
  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#watch()
    this.#stream.resume()
  }

  /**
   * From now on `hearing` receives responses of this kind. `owed`: the service has everything it needs for the next
   * one.
   */
  listen(kind: Kind, hearing: Hearing, owed = true): void {
    if (this.#ended) hearing.fail(this.#ended)
    else {
      this.#waiting.set(kind, { hearing, owed })
      this.#watch()
      if (this.#crowded) this.resume()
    }
  }

  unlisten(kind: Kind): void {
    this.#waiting.delete(kind)
    this.#watch()
  }

  /** The response to what was sent. Rejects with GatewayError `extProc`. */
  answer(kind: Kind): Promise<ProcessingResponse> {
    return new Promise((resolve, reject) => {
      this.listen(kind, {
        hear: response => {
          this.unlisten(kind)
          resolve(response)
          return true
        },
        fail: reject,
      })
    })
  }

  /** The exchange has ended. */
  close(): void {
    this.#silence?.cancel()
    if (this.#ended) return
    this.#stream.end()
    this.#silence = this.#runtime.clock.after(CLOSE_TIMEOUT, () => this.#stream.cancel())
    this.#waiting.clear()
  }

  #hear(bytes: Buffer): boolean {
    let response: ProcessingResponse
    try {
      response = processingResponse.decode(bytes)
    } catch {
      this.#stream.cancel()
      this.#fail(failed('a malformed response'))
      return true
    }
    this.#watch()
    this.#every(response)
    const { immediateResponse } = response
    if (immediateResponse) {
      for (const { hearing } of [...this.#waiting.values()]) hearing.hear(response)
      return true
    }
    for (const [kind, { hearing }] of this.#waiting) {
      if (response[kind] === undefined) continue
      this.#paused = hearing.hear(response) === false && !this.#crowded
      this.#watch()
      return !this.#paused
    }
    this.#stream.cancel()
    this.#fail(failed('an unexpected response'))
    return true
  }

  #fail(error: Error): void {
    this.#silence?.cancel()
    if (this.#ended) return
    this.#ended = error
    this.#refuse(error)
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { hearing } of waiting) hearing.fail(error)
    for (const then of this.#drained) then()
  }

  /** Both directions share one stream: neither may block the other. */
  get #crowded(): boolean {
    const kinds = [...this.#waiting.keys()]
    return kinds.some(kind => kind.startsWith('request')) && kinds.some(kind => kind.startsWith('response'))
  }

  /** While a response is expected, one must arrive in time, unless held back by our own back-pressure. */
  #watch(): void {
    this.#silence?.cancel()
    this.#silence = undefined
    if (this.#ended || this.#paused || ![...this.#waiting.values()].some(({ owed }) => owed)) return
    this.#silence = this.#runtime.clock.after(this.#limit, () => {
      this.#stream.cancel()
      this.#fail(failed('no answer in time'))
    })
  }
}

export function failed(cause: string): GatewayError {
  return new GatewayError('extProc', { cause })
}

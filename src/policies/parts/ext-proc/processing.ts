import { Readable } from 'node:stream'
import type { Callee } from '../../../calls/outcall.ts'
import type { BodyHook, BodyPassage } from '../../../calls/step.ts'
import type { Expression } from '../../../cel/expression.ts'
import { GatewayError } from '../../../http/errors.ts'
import type { BodySource, Exchange } from '../../../http/exchange.ts'
import { isFieldName, toFieldValue } from '../../../http/field-value.ts'
import { HeaderList } from '../../../http/headers.ts'
import { SocketBody } from '../../../http/socket-body.ts'
import {
  BODY_MODES,
  type BodyMode,
  CONTINUE_AND_REPLACE,
  type CommonResponse,
  type ProcessingMode,
  type ProcessingResponse,
} from '../../../protobuf/ext-proc.ts'
import type { Struct } from '../../../protobuf/struct.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { Limits } from '../../policy.ts'
import { evaluateAll } from '../evaluate-all.ts'
import { ProcessedBody, RelayedBody, trailersOf } from './duplex-request.ts'
import { changedTrailers, changeRequest, changeResponse, headersOf, immediate, requestHeadersOf } from './mutations.ts'
import { changedBody, DuplexResponse, ResponseBeginning } from './response-body.ts'
import { ServiceStream } from './service-stream.ts'

type Expressions = Readonly<Record<string, Expression>>

export interface ProcessingModes {
  readonly requestHeaders: boolean
  readonly responseHeaders: boolean
  readonly requestBody: BodyMode
  readonly responseBody: BodyMode
  readonly requestTrailers: boolean
  readonly responseTrailers: boolean
}

/** The configured rules. */
export interface ProcessingRules {
  readonly callee: Callee
  readonly modes: ProcessingModes
  readonly allowModeOverride: boolean
  readonly metadataContext: Readonly<Record<string, Expressions>>
  readonly requestAttributes: Expressions
  readonly responseAttributes: Expressions
}

/** Maximum bytes of a body sent as one message (specification, `extProc`). */
export const BUFFERED_LIMIT = 8192
/** The namespace used by Envoy's own filter. */
const ATTRIBUTES = 'envoy.filters.http.ext_proc'
/** Entries under this key are sent as metadata of the call. */
const INITIAL_METADATA = 'agentgateway.dev.grpc_initial_metadata'

/** The processing of one exchange by the service. */
export class Processing {
  readonly #rules: ProcessingRules
  readonly #limits: Limits
  readonly #runtime: Runtime
  readonly #x: Exchange
  #stream: ServiceStream | undefined
  #modes: ProcessingModes
  #body: SocketBody | undefined
  /** The request body before the service replaced it. */
  #original: { readonly body: BodySource; readonly length: string | undefined } | undefined
  /** The response body, once the service has replaced it. */
  #replaced: Buffer | undefined
  /** Some body data has been sent to the service. */
  bodyStarted = false

  constructor(rules: ProcessingRules, x: Exchange, limits: Limits, runtime: Runtime) {
    this.#rules = rules
    this.#limits = limits
    this.#runtime = runtime
    this.#modes = rules.modes
    this.#x = x
  }

  /** Throws GatewayError `extProc`, whose cause has the reason; one with its own body is the service's response. */
  async request(): Promise<void> {
    const x = this.#x
    const bodiless = x.body.length === 0 || x.upgrade !== undefined || x.request.method === 'CONNECT'
    const duplex = !bodiless && this.#modes.requestBody === 'fullDuplexStreamed'
    if (this.#modes.requestHeaders) {
      const stream = this.#open()
      const answer = stream.answer('requestHeaders')
      stream.send({ requestHeaders: { headers: requestHeadersOf(x), endOfStream: bodiless } })
      // It may need the body before it answers.
      if (duplex) this.#streamed(stream)
      const replaced = this.#changeRequest(await answer, 'requestHeaders')
      if (replaced) return
    } else if (duplex) {
      const stream = this.#open()
      this.#streamed(stream)
      await stream.begun()
    }
    if (bodiless || duplex) return
    const { body } = x
    if (this.#modes.requestBody === 'buffered') await this.#buffered()
    else if (this.#modes.requestBody === 'bufferedPartial') await this.#beginning()
    await this.#trailed(body)
  }

  async response(): Promise<void> {
    const { response, request } = this.#x
    if (!response) return
    const { status, headers } = response
    const bodiless =
      request.method === 'HEAD' || status === 204 || status === 304 || headers.get('content-length') === '0'
    const { responseHeaders, responseBody } = this.#modes
    if (responseHeaders || (responseBody !== 'none' && !bodiless)) {
      this.#open().announce({ ...this.#attributes(this.#rules.responseAttributes), ...this.#context() })
    }
    if (responseHeaders) {
      const stream = this.#open()
      const answer = stream.answer('responseHeaders')
      const sent = headersOf([[':status', String(status)]], headers)
      stream.send({ responseHeaders: { headers: sent, endOfStream: bodiless } })
      if (this.#changeResponse(await answer, 'responseHeaders') || bodiless) return
    }
    if (response.body !== undefined && this.#modes.responseBody === 'buffered') {
      const stream = this.#open()
      const answer = stream.answer('responseBody')
      stream.send({ responseBody: { body: response.body, endOfStream: true } })
      this.#changeResponse(await answer, 'responseBody')
    }
  }

  /** The transform or sink for the response body, if any. */
  responseBody(): BodyHook | BodyPassage | undefined {
    const { response } = this.#x
    if (this.#replaced !== undefined) return instead(this.#replaced)
    const mode = this.#modes.responseBody
    if (mode === 'none' || response?.body !== undefined || response?.headers.get('content-length') === '0') {
      return undefined
    }
    if (this.#x.request.method === 'HEAD' || response?.status === 204 || response?.status === 304) return undefined
    const stream = this.#open()
    return mode === 'fullDuplexStreamed'
      ? { around: to => new DuplexResponse(stream, to, this.#modes.responseTrailers) }
      : { around: to => new ResponseBeginning(stream, to, BUFFERED_LIMIT, mode === 'buffered') }
  }

  /** Restores the original request and continues without the service. */
  withdraw(): void {
    const original = this.#original
    if (original) {
      this.#x.body = original.body
      if (original.length !== undefined) this.#x.request.headers.set('content-length', original.length)
    }
    this.close()
  }

  close(): void {
    this.#stream?.close()
    this.#body?.release()
  }

  #open(): ServiceStream {
    this.#stream ??= new ServiceStream(
      this.#rules.callee,
      { fields: this.#callMetadata(), preface: this.#preface() },
      this.#x,
      this.#runtime,
      response => this.#learn(response),
    )
    return this.#stream
  }

  #preface() {
    const { requestBody, responseBody } = this.#modes
    return {
      ...this.#attributes(this.#rules.requestAttributes),
      ...this.#context(),
      protocolConfig: { requestBodyMode: BODY_MODES[requestBody], responseBodyMode: BODY_MODES[responseBody] },
    }
  }

  #context() {
    const context = Object.entries(this.#rules.metadataContext).filter(([name]) => name !== INITIAL_METADATA)
    if (context.length === 0) return {}
    const filterMetadata = Object.fromEntries(
      context.map(([name, values]) => [name, evaluateAll(values, this.#x, 'extProc') as Struct]),
    )
    return { metadataContext: { filterMetadata } }
  }

  #attributes(expressions: Expressions) {
    if (Object.keys(expressions).length === 0) return {}
    return { attributes: { [ATTRIBUTES]: evaluateAll(expressions, this.#x, 'extProc') as Struct } }
  }

  #callMetadata(): string[] {
    const values = evaluateAll(this.#rules.metadataContext[INITIAL_METADATA] ?? {}, this.#x, 'extProc')
    return Object.entries(values).flatMap(([name, value]) => {
      const line = typeof value === 'string' ? toFieldValue(value) : undefined
      const own = name.toLowerCase()
      const reserved = own.startsWith('grpc-') || own === 'content-type' || own === 'te' || own.endsWith('-bin')
      return line === undefined || reserved || !isFieldName(name) ? [] : [own, line]
    })
  }

  #learn({ dynamicMetadata }: ProcessingResponse): void {
    const { external } = this.#x
    if (dynamicMetadata) external.extproc = { ...external.extproc, ...dynamicMetadata }
  }

  /** Streams the body to the service and replaces it with the service's output. */
  #streamed(stream: ServiceStream): void {
    const x = this.#x
    const { body } = x
    this.#original = { body, length: x.request.headers.get('content-length') }
    const processed = new ProcessedBody(stream, () => this.#modes.requestTrailers)
    void processed.feed(x, () => {
      this.bodyStarted = true
    })
    this.#body = new SocketBody(processed, undefined, this.#runtime)
    x.body = this.#body
    x.request.headers.delete('content-length')
  }

  async #buffered(): Promise<void> {
    const body = await this.#x.body.buffer(BUFFERED_LIMIT).catch((error: unknown) => {
      if (!(error instanceof GatewayError) || error.code !== 'bodyTooLarge') throw error
      // Nothing sent by a client may bypass the service.
      throw new GatewayError('extProc', { status: 413, cause: error, body: { type: 'text/plain', text: TOO_LARGE } })
    })
    this.#replaceRequest(await this.#askAboutBody(body, true))
  }

  async #beginning(): Promise<void> {
    const x = this.#x
    const { bytes, whole } = await x.body.prefix(BUFFERED_LIMIT)
    const changed = await this.#askAboutBody(bytes, whole)
    if (changed === undefined) return
    if (whole) this.#replaceRequest(changed)
    else this.#replaceBeginning(changed)
  }

  async #askAboutBody(body: Buffer, endOfStream: boolean): Promise<Buffer | undefined> {
    const stream = this.#open()
    this.bodyStarted = true
    const last = endOfStream && (await this.#trailersOf(this.#x.body)).length === 0
    const answer = stream.answer('requestBody')
    stream.send({ requestBody: { body, endOfStream: last } })
    const response = await answer
    this.#changeRequest(response, 'requestBody')
    return changedBody(response.requestBody?.response?.bodyMutation)
  }

  /** Where the client's body has ended, it stays as it is unless it has trailers. */
  async #trailed(client: BodySource): Promise<void> {
    const x = this.#x
    const { body } = x
    if (!this.#mayTrail(client)) return
    if (body.bytes !== undefined && (await this.#trailersOf(client)).length === 0) return
    const relayed = new RelayedBody(body, async () => {
      const trailers = await this.#trailersOf(client)
      return trailers.length === 0 ? [] : this.#askAboutTrailers(trailers)
    })
    this.#body = new SocketBody(relayed, undefined, this.#runtime)
    x.body = this.#body
    x.request.headers.delete('content-length')
  }

  /** Only bodies without a length have trailers. */
  #mayTrail({ length }: BodySource): boolean {
    return this.#modes.requestTrailers && length === undefined
  }

  /** Of a body that has ended. */
  async #trailersOf(client: BodySource): Promise<readonly string[]> {
    if (!this.#mayTrail(client)) return []
    // Some systems report trailers after the end of the body.
    await new Promise(setImmediate)
    return trailersOf(this.#x, client)
  }

  async #askAboutTrailers(trailers: readonly string[]): Promise<readonly string[]> {
    const stream = this.#open()
    const answer = stream.answer('requestTrailers')
    stream.send({ requestTrailers: { trailers: headersOf([], new HeaderList([...trailers])) } })
    const { requestTrailers, immediateResponse } = await answer
    if (immediateResponse) throw immediate(immediateResponse)
    return changedTrailers(requestTrailers?.headerMutation, trailers)
  }

  #replaceBeginning(beginning: Buffer): void {
    const x = this.#x
    const changed = Readable.from(withBeginning(x.body, beginning, BUFFERED_LIMIT), { objectMode: false })
    this.#body = new SocketBody(changed, undefined, this.#runtime)
    x.body = this.#body
    x.request.headers.delete('content-length')
  }

  #replaceRequest(body: Buffer | undefined): void {
    if (body === undefined) return
    this.#x.body.replace(body)
    this.#x.request.headers.delete('content-length')
  }

  /** True: the service has replaced the body and needs nothing more from this side. */
  #changeRequest(answer: ProcessingResponse, kind: 'requestHeaders' | 'requestBody'): boolean {
    const common = commonOf(answer, kind)
    changeRequest(common?.headerMutation, this.#x, this.#limits)
    if (kind === 'requestHeaders') this.#override(answer.modeOverride)
    if (common?.status !== CONTINUE_AND_REPLACE) return false
    this.#replaceRequest(changedBody(common.bodyMutation))
    return true
  }

  #changeResponse(answer: ProcessingResponse, kind: 'responseHeaders' | 'responseBody'): boolean {
    const common = commonOf(answer, kind)
    const { response } = this.#x
    if (response) changeResponse(common?.headerMutation, response)
    if (kind === 'responseHeaders') this.#override(answer.modeOverride)
    const replaces = common?.status === CONTINUE_AND_REPLACE
    if (replaces || kind === 'responseBody') this.#replaced = changedBody(common?.bodyMutation)
    if (replaces) this.#modes = { ...this.#modes, responseBody: 'none' }
    return replaces
  }

  /** Not to or from streaming: both ends agreed on that at the start. */
  #override(mode: ProcessingMode | undefined): void {
    if (mode === undefined || !this.#rules.allowModeOverride) return
    const modes = this.#modes
    this.#modes = {
      requestHeaders: modes.requestHeaders,
      responseHeaders: sent(mode.responseHeaderMode, modes.responseHeaders),
      requestBody: overridden(modes.requestBody, mode.requestBodyMode),
      responseBody: overridden(modes.responseBody, mode.responseBodyMode),
      requestTrailers: sent(mode.requestTrailerMode, modes.requestTrailers),
      responseTrailers: sent(mode.responseTrailerMode, modes.responseTrailers),
    }
  }
}

const TOO_LARGE = 'request body too large'

/** Throws the service's response if it ends the request. */
function commonOf(
  answer: ProcessingResponse,
  kind: 'requestHeaders' | 'responseHeaders' | 'requestBody' | 'responseBody',
): CommonResponse | undefined {
  if (answer.immediateResponse) throw immediate(answer.immediateResponse)
  return answer[kind]?.response
}

const SEND = 1
const SKIP = 2

function sent(mode: number | undefined, before: boolean): boolean {
  return mode === SEND || (mode !== SKIP && before)
}

function overridden(before: BodyMode, mode = 0): BodyMode {
  if (before === 'fullDuplexStreamed') return before
  const modes: readonly BodyMode[] = ['none', 'buffered', 'bufferedPartial']
  return modes.find(each => BODY_MODES[each] === mode) ?? before
}

async function* withBeginning(body: BodySource, beginning: Buffer, skipped: number): AsyncGenerator<Buffer> {
  yield beginning
  const from = body.take()
  if (from === undefined) return
  let left = skipped
  for await (const chunk of Buffer.isBuffer(from) ? [from] : from) {
    const bytes = chunk as Buffer
    if (bytes.length > left) yield bytes.subarray(left)
    left = Math.max(0, left - bytes.length)
  }
}

/** Discards the body and sends `body` instead. */
function instead(body: Buffer): BodyHook {
  return { chunk: () => undefined, end: () => body }
}

import { PRIMARY } from '../../calls/call-record.ts'
import { dispatch } from '../../calls/dispatch.ts'
import { authorityOf, hostAndPort } from '../../http/authority.ts'
import { GatewayError } from '../../http/errors.ts'
import type { Attempt, Exchange, LlmFacts } from '../../http/exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import type { ResponseHandler, Target, UpstreamRequest } from '../../http/transport.ts'
import type { ChatFormat } from '../../llm/chat/chat.ts'
import type { ErrorCodec } from '../../llm/chat/codec.ts'
import { Conversion } from '../../llm/chat/conversion.ts'
import type { JsonObject } from '../../llm/chat/json.ts'
import { Untranslatable } from '../../llm/chat/losses.ts'
import { PlainConversion } from '../../llm/chat/plain-conversion.ts'
import { errorBody } from '../../llm/error-body.ts'
import { CODECS } from '../../llm/formats/codecs.ts'
import { openAiErrors } from '../../llm/formats/completions/errors.ts'
import { detect } from '../../llm/formats/detect.ts'
import type { Format, ReplyReader } from '../../llm/formats/format.ts'
import { formatOf } from '../../llm/formats/index.ts'
import { isChatFormat, targetFormat, type WireFormat } from '../../llm/formats/target-format.ts'
import type { JsonBody } from '../../llm/json-body.ts'
import type { RouteType } from '../../llm/route-type.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { convertReply } from './converted-reply.ts'
import { convertedBody, replyFacts } from './converted-request.ts'
import { countHere } from './count-here.ts'
import { guarded } from './guarded/guarded-call.ts'
import { editedLast } from './last-edits.ts'
import { emit } from './llm-event.ts'
import { dropHeaders, upstreamHeaders } from './provider-headers.ts'
import type { ProviderTarget } from './provider-target.ts'
import type { WireFamily, WireFormats } from './providers/provider.ts'
import { readJson } from './read-json.ts'
import { followSession } from './realtime/session.ts'
import { askedModel, sessionHeaders, withModel } from './realtime/session-request.ts'
import { relayReply, watchReply } from './reply.ts'
import { errorInDialect, type ReplyContext } from './reply-context.ts'
import { modelIn, parametersIn } from './request-parameters.ts'
import { STALL_LIMIT, watchStall } from './stall-watch.ts'
import { withinLimits } from './token-limits.ts'

/** What the caller of a provider knows beyond the request. */
export interface ProviderCall {
  /** Set if it was parsed to choose the provider. */
  readonly body?: JsonBody | undefined
  /** The client's exchange, where the call has one of its own. */
  readonly client?: Exchange
  /** Another provider follows if this one fails before it has sent anything. */
  readonly more?: boolean
  /** The name of the chosen model, where no body carries it. */
  readonly model?: string
}

/** Serves one attempt by calling `to`. */
export function callProvider(
  runtime: Runtime,
  to: ProviderTarget,
  route: RouteType,
  x: Exchange,
  attempt: Attempt,
  on: ResponseHandler,
  { body, client = x, more = false, model }: ProviderCall = {},
): void {
  const upstream: Call['upstream'] = { cancel: undefined }
  const call: Call = { runtime, to, x, client, more, timeout: to.timeout ?? attempt.timeout ?? 0, upstream }
  // The attempt of the client's request reports the backend; a provider's own attempt reports its address.
  if (client !== x) attempt.target = to.target.unixPath ?? hostAndPort(to.target.host, to.target.port)
  const format = formatOf(route)
  if (route === 'passthrough' || route === 'detect' || route === 'models') forward(call, route, on, body)
  else if (route === 'realtime' && 'realtime' in to.wire.formats) converse(call, on, model)
  else if (format === undefined) on.fail(unsupported(route, openAiErrors, to, to.wire.formats))
  else if (body) callParsed(call, format, on, body)
  else {
    readJson(x).then(
      parsed => callParsed(call, format, on, parsed),
      error => on.fail(errorInDialect(format.errors, error)),
    )
  }
}

/** One call to a provider. */
interface Call {
  readonly runtime: Runtime
  readonly to: ProviderTarget
  readonly x: Exchange
  /** Also receives the facts learned during the call. */
  readonly client: Exchange
  readonly more: boolean
  /** Timeout in ms until the response head; 0 for none. */
  readonly timeout: number
  /** Cancels the call, once it is in flight. */
  readonly upstream: { cancel: (() => void) | undefined }
}

function callParsed(call: Call, format: Format, on: ResponseHandler, body: JsonBody): void {
  const { to, x } = call
  call.client.errorBody = (status, message) => errorBody(format.errors, status, message)
  const facts: LlmFacts = reportFacts(call, {
    provider: to.provider,
    streaming: body.get('stream') === true,
    requestModel: '',
    request: body.value,
    prices: to.prices,
  })
  const address = format.address?.(x.request.path)
  if (address) {
    // The selection of the provider may have set the model, too.
    if (!body.changed('model')) body.set('model', address.model)
    body.set('stream', address.stream ? true : undefined)
  }
  if (to.wire.model !== undefined) body.set('model', to.wire.model)
  to.edit?.(body, x)
  to.policy?.apply(body, x, format)
  const model = body.get('model')
  if (typeof model !== 'string' || model === '') {
    on.fail(errorInDialect(format.errors, new GatewayError('llmRequest', { detail: 'missing field: model' })))
    return
  }
  facts.requestModel = model
  if (format.name === 'embeddings') facts.operation = 'embeddings'
  const params = parametersIn(body)
  if (params) facts.params = params
  facts.streaming = body.get('stream') === true
  const family = to.wire.family ? to.wire.family(model) : to.wire
  if (family === undefined) {
    const detail = 'the model name is not valid in a path'
    on.fail(errorInDialect(format.errors, new GatewayError('llmRequest', { detail })))
    return
  }
  const target = targetFormat(format.name, spoken => spoken in family.formats)
  if (target === undefined) {
    answerHere(call, format, family, on, body)
    return
  }
  const plain = family.plain?.[format.name]
  const native = target === format.name && plain === undefined
  const cancel = (): void => call.upstream.cancel?.()
  const guards = { x, client: call.client, clock: call.runtime.clock, guards: to.guards, format, native, cancel }
  guarded(guards, body, on, on =>
    withinLimits(call, format, body, on, () => {
      if (native) callNative(call, format, family, model, on, body)
      else {
        const conversion = plain ? new PlainConversion(plain, format.errors) : conversionOf(format, target)
        callConverted(call, format, target, conversion, family, model, on, body)
      }
    }),
  )
}

function conversionOf({ name }: Format, target: WireFormat): Conversion {
  return new Conversion(CODECS[name as ChatFormat], CODECS[target as ChatFormat])
}

/** The provider has no such call: tokens can be counted locally. */
function answerHere({ to, x }: Call, format: Format, family: WireFamily, on: ResponseHandler, body: JsonBody): void {
  const { name, errors, counted } = format
  if (counted === undefined) {
    on.fail(unsupported(name, errors, to, family.formats))
    return
  }
  const facts = x.llm as LlmFacts
  countHere(counted, errors, body, facts, on).then(
    () => {
      delete facts.request
      emit(x, facts)
    },
    error => on.fail(error),
  )
}

/** Client and provider speak the same format: the bytes pass through, with only the configured changes. */
function callNative(
  call: Call,
  format: Format,
  family: WireFamily,
  model: string,
  on: ResponseHandler,
  body: JsonBody,
): void {
  const { to, x } = call
  const facts = x.llm as LlmFacts
  const stream = facts.streaming
  const usageAsked = shape(body, model, to, format)
  emit(x, facts)
  const headers = readableHeaders(call, family)
  if (format.address) {
    body.set('model', undefined)
    body.set('stream', undefined)
  }
  family.edit?.(body, { format: format.name, model, stream, headers })
  const bytes = editedLast(body, to, x).bytes()
  delete facts.request
  const path = to.upstreamPath(format.name, x.request.path, { model, stream, converted: false })
  send(call, { path, headers, body: bytes, watched: true }, cancel =>
    relayReply(
      {
        ...replyContext(call, format, format.errors, facts, cancel),
        ...(isChatFormat(format.name) ? { chat: format.name, patient: call.more } : {}),
        ...(usageAsked ? { hide: format.isUsageEvent } : {}),
      },
      on,
    ),
  )
}

/** The provider speaks another format: request and response are converted, and losses are reported. */
function callConverted(
  call: Call,
  format: Format,
  target: WireFormat,
  conversion: Conversion | PlainConversion,
  family: WireFamily,
  model: string,
  on: ResponseHandler,
  body: JsonBody,
): void {
  const { to, x } = call
  const { clock } = call.runtime
  const facts = x.llm as LlmFacts
  // A call without a streaming form is answered as a whole.
  if (conversion instanceof PlainConversion) facts.streaming = false
  const stream = facts.streaming
  const headers = readableHeaders(call, family)
  let sent: JsonObject
  try {
    sent = convertedBody(to, x, { body, format, target, conversion, family, model, stream, headers })
  } catch (error) {
    if (!(error instanceof Untranslatable)) throw error
    on.fail(errorInDialect(format.errors, new GatewayError('llmRequest', { detail: error.message })))
    return
  }
  dropHeaders(headers, to.wire.dropHeaders ?? [])
  headers.set('content-type', 'application/json')
  noteLosses(facts, conversion)
  emit(x, facts)
  delete facts.request
  const path = to.upstreamPath(target, x.request.path, { model, stream, converted: true })
  const request = {
    path,
    headers,
    body: Buffer.from(JSON.stringify(sent)),
    at: to.elsewhere[target],
    watched: true,
  } as const
  send(call, request, cancel =>
    convertReply(
      {
        conversion,
        errors: format.errors,
        framed: format.framed === true,
        facts,
        clock,
        startedAt: clock.mono(),
        named: replyFacts(call.runtime, to, model, format, body),
        cancel,
        done: () => {
          noteLosses(facts, conversion)
          emit(x, facts)
        },
      },
      on,
    ),
  )
}

function noteLosses(facts: LlmFacts, { losses }: Conversion | PlainConversion): void {
  if (losses.count === 0) return
  facts.losses = losses.list
  facts.lossCount = losses.count
}

function readableHeaders({ x, to }: Call, family: WireFamily): HeaderList {
  const headers = upstreamHeaders(x.request.headers, to, family)
  headers.delete('content-encoding')
  // The response is parsed here, and providers compress for clients that accept it.
  headers.set('accept-encoding', 'identity')
  return headers
}

function reportFacts({ x, client }: Call, facts: LlmFacts): LlmFacts {
  x.llm = facts
  client.llm = facts
  return facts
}

/**
 * Applies the changes that a provider needs; the rest of the body stays as the client wrote it. True if the response
 * will carry usage that the client did not ask for.
 */
function shape(body: JsonBody, model: string, to: ProviderTarget, format: Format): boolean {
  const usageAsked = format.askForUsage?.(body) === true
  if (format.name === 'completions' && to.wire.maxCompletionTokens?.test(model) && body.has('max_tokens')) {
    if (!body.has('max_completion_tokens')) body.set('max_completion_tokens', body.get('max_tokens'))
    body.set('max_tokens', undefined)
  }
  return usageAsked
}

/** Passes the request through, replacing only address, path and credential. */
function forward(
  call: Call,
  route: 'passthrough' | 'detect' | 'models',
  on: ResponseHandler,
  body: JsonBody | undefined,
): void {
  const { to, x } = call
  const requestModel = x.llm?.requestModel ?? modelIn(body)
  const facts = reportFacts(call, {
    provider: to.provider,
    streaming: body?.get('stream') === true,
    requestModel,
    prices: to.prices,
  })
  emit(x, facts)
  const headers = upstreamHeaders(x.request.headers, to, to.wire)
  // A parsed body has been decoded.
  if (body) headers.delete('content-encoding')
  const request = {
    path: to.upstreamPath(undefined, x.request.path, NO_MODEL),
    headers,
    body: body?.bytes() ?? x.body.take(),
    ...(x.upgrade === undefined ? {} : { upgrade: x.upgrade }),
  }
  send(call, request, cancel =>
    route === 'detect' ? watchReply(replyContext(call, detect, openAiErrors, facts, cancel), on) : on,
  )
}

/** A session over a WebSocket. `chosen`: the name of the model chosen for it. */
function converse(call: Call, on: ResponseHandler, chosen: string | undefined): void {
  const { to, x, client, runtime } = call
  const asked = chosen ?? askedModel(x.request.path)
  const model = to.wire.model ?? (asked && to.policy?.aliasOf(asked)) ?? asked
  const facts = reportFacts(call, {
    provider: to.provider,
    streaming: true,
    requestModel: model ?? 'unknown',
    prices: to.prices,
  })
  emit(x, facts)
  const headers = upstreamHeaders(x.request.headers, to, to.wire)
  const request = {
    path: to.upstreamPath('realtime', withModel(x.request.path, model), NO_MODEL),
    headers: sessionHeaders(headers, to.authenticated),
    body: x.body.take(),
    ...(x.upgrade === undefined ? {} : { upgrade: x.upgrade }),
  }
  const guarding = { x: client, own: x, clock: runtime.clock }
  const session = { facts, client, guards: to.guards, call: guarding, tell: () => emit(x, facts) }
  send(call, request, () => followSession(session, on))
}

/** For requests that pass through. */
const NO_MODEL = { model: '', stream: false, converted: false }

function replyContext(
  { runtime, x }: Call,
  format: ReplyReader,
  errors: ErrorCodec,
  facts: LlmFacts,
  cancel: () => void,
): ReplyContext {
  const { clock } = runtime
  return { format, errors, facts, clock, startedAt: clock.mono(), cancel, done: () => emit(x, facts) }
}

type Sent = Pick<UpstreamRequest, 'path' | 'headers' | 'body' | 'upgrade'> & {
  readonly at?: Target | undefined
  /** The reply may not stall. */
  readonly watched?: boolean
}

function send(
  { runtime, to, x, client, timeout, upstream }: Call,
  { at = to.target, watched = false, ...request }: Sent,
  handler: (cancel: () => void) => ResponseHandler,
): void {
  const { method, authority } = x.request
  const limit = timeout || client.timeLimit || STALL_LIMIT
  const whole = {
    method,
    authority: at.named && !x.authorityFixed ? authorityOf(at) : authority,
    ...request,
    timeout: watched && x.llm?.streaming ? limit : timeout,
    purpose: PRIMARY.Llm,
  }
  const cancel = (): void => call.cancel()
  const on = handler(cancel)
  const call = dispatch(runtime, x, at, whole, watched ? watchStall(limit, runtime.clock, cancel, on) : on)
  upstream.cancel = () => call.cancel()
}

function unsupported(from: RouteType, errors: ErrorCodec, to: ProviderTarget, formats: WireFormats): Error {
  const speaks = Object.keys(formats).join(', ') || 'none'
  const detail = `unsupported conversion: from ${from} to provider ${to.provider} (supported: ${speaks})`
  return errorInDialect(errors, new GatewayError('llmRequest', { detail }))
}

import { GatewayError } from '../../http/errors.ts'
import type { Attempt, Exchange, LlmFacts } from '../../http/exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import type { Runtime } from '../../http/runtime.ts'
import type { ResponseHandler, UpstreamRequest } from '../../http/transport.ts'
import { type ErrorDialect, errorBody } from '../../llm/error-body.ts'
import { detect } from '../../llm/formats/detect.ts'
import type { Format, ReplyReader } from '../../llm/formats/format.ts'
import { formatOf } from '../../llm/formats/index.ts'
import { JsonBody } from '../../llm/json-body.ts'
import { LlmPolicy } from '../../llm/llm-policy.ts'
import type { RouteType } from '../../llm/route-type.ts'
import { contentCoding, decodeWhole } from './content-coding.ts'
import type { ProviderTarget } from './provider-target.ts'
import { inDialect, type ReplyContext, relayReply, watchReply } from './reply.ts'

/** Of a request body that is read, in bytes (spec "Limits", buffer default). */
export const BODY_LIMIT = 2 * 1024 * 1024

/** Answers one attempt with a call to `to`. `body`: already parsed, by whoever had to choose `to`. */
export function callProvider(
  runtime: Runtime,
  to: ProviderTarget,
  route: RouteType,
  x: Exchange,
  attempt: Attempt,
  on: ResponseHandler,
  body?: JsonBody,
): void {
  const call: Call = { runtime, to, x, timeout: to.timeout ?? attempt.timeout ?? 0 }
  const format = formatOf(route)
  if (route === 'passthrough' || route === 'detect' || route === 'models') forward(call, route, on, body)
  else if (route === 'realtime' && 'realtime' in to.wire.formats) forward(call, route, on, body)
  else if (format === undefined || !(format.name in to.wire.formats)) on.fail(unsupported(route, format, to))
  else if (body) callParsed(call, format, on, body)
  else {
    readJson(x).then(
      parsed => callParsed(call, format, on, parsed),
      error => on.fail(inDialect(format.errors, error)),
    )
  }
}

/** The request body, read whole, decoded and parsed. Throws GatewayError without a body of its own. */
export async function readJson(x: Exchange): Promise<JsonBody> {
  const raw = x.body.bytes ?? (await x.body.buffer(BODY_LIMIT))
  const header = x.request.headers.get('content-encoding')
  const coding = contentCoding(header)
  if (coding === 'unknown') {
    throw new GatewayError('llmRequest', { status: 415, detail: `unsupported content encoding: ${header}` })
  }
  const body = JsonBody.parse(coding === undefined ? raw : await decodeWhole(raw, coding, BODY_LIMIT))
  if (body === undefined) throw new GatewayError('llmRequest', { detail: 'the body must be a JSON object' })
  return body
}

/** One call to a provider. */
interface Call {
  readonly runtime: Runtime
  readonly to: ProviderTarget
  readonly x: Exchange
  /** ms until the response head; 0: none. */
  readonly timeout: number
}

function callParsed(call: Call, format: Format, on: ResponseHandler, body: JsonBody): void {
  const { to, x } = call
  const facts: LlmFacts = {
    provider: to.provider,
    streaming: body.get('stream') === true,
    requestModel: '',
    request: body.value,
  }
  x.llm = facts
  if (to.wire.model !== undefined) body.set('model', to.wire.model)
  to.edit?.(body, x)
  if (x.llmPolicy instanceof LlmPolicy) x.llmPolicy.apply(body, x, format)
  const model = body.get('model')
  if (typeof model !== 'string' || model === '') {
    on.fail(inDialect(format.errors, new GatewayError('llmRequest', { detail: 'missing field: model' })))
    return
  }
  facts.requestModel = model
  if (format.name === 'embeddings') facts.operation = 'embeddings'
  const params = parametersIn(body)
  if (params) facts.params = params
  facts.streaming = body.get('stream') === true
  const usageAsked = shape(body, model, to, format)
  emit(x, facts)
  const headers = upstreamHeaders(x.request.headers, to)
  headers.delete('content-encoding')
  // What is read here must be readable: providers compress for clients that ask for it.
  headers.set('accept-encoding', 'identity')
  const bytes = body.bytes()
  delete facts.request
  dispatch(call, { path: to.upstreamPath(format.name, x.request.path), headers, body: bytes }, cancel =>
    relayReply(
      {
        ...replyContext(call, format, format.errors, facts, cancel),
        ...(usageAsked ? { hide: format.isUsageEvent } : {}),
      },
      on,
    ),
  )
}

const PARAMETERS = [
  'temperature',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'seed',
  'max_tokens',
  'encoding_format',
  'dimensions',
] as const

/** What logs and expressions show of the request: numbers and names, nothing of the conversation. */
function parametersIn(body: JsonBody): Readonly<Record<string, string | number>> | undefined {
  let found: Record<string, string | number> | undefined
  for (const name of PARAMETERS) {
    const value = body.get(name)
    if (typeof value === 'number' || (typeof value === 'string' && value.length <= 32)) {
      found ??= {}
      found[name] = value
    }
  }
  return found
}

/**
 * The changes that a provider needs; everything else in the body stays as the client wrote it. True: the reply will
 * carry usage that the client did not ask for.
 */
function shape(body: JsonBody, model: string, to: ProviderTarget, format: Format): boolean {
  const usageAsked = format.askForUsage?.(body) === true
  if (format.name === 'completions' && to.wire.maxCompletionTokens?.test(model) && body.has('max_tokens')) {
    if (!body.has('max_completion_tokens')) body.set('max_completion_tokens', body.get('max_tokens'))
    body.set('max_tokens', undefined)
  }
  return usageAsked
}

/** As it is: only address, path and credential are the provider's. */
function forward(
  call: Call,
  route: 'passthrough' | 'detect' | 'models' | 'realtime',
  on: ResponseHandler,
  body: JsonBody | undefined,
): void {
  const { to, x } = call
  const requestModel = x.llm?.requestModel ?? modelIn(body)
  const facts: LlmFacts = { provider: to.provider, streaming: body?.get('stream') === true, requestModel }
  x.llm = facts
  emit(x, facts)
  const headers = upstreamHeaders(x.request.headers, to)
  // A parsed body is a decoded one.
  if (body) headers.delete('content-encoding')
  const request = {
    path: to.upstreamPath(route === 'realtime' ? 'realtime' : undefined, x.request.path),
    headers,
    body: body?.bytes() ?? x.body.take(),
    ...(x.upgrade === undefined ? {} : { upgrade: x.upgrade }),
  }
  dispatch(call, request, cancel =>
    route === 'detect' ? watchReply(replyContext(call, detect, 'openai', facts, cancel), on) : on,
  )
}

function modelIn(body: JsonBody | undefined): string {
  const model = body?.get('model')
  return typeof model === 'string' ? model : 'unknown'
}

function replyContext(
  { runtime, x }: Call,
  format: ReplyReader,
  errors: ErrorDialect,
  facts: LlmFacts,
  cancel: () => void,
): ReplyContext {
  const { clock } = runtime
  return { format, errors, facts, clock, startedAt: clock.mono(), cancel, done: () => emit(x, facts) }
}

function dispatch(
  { runtime, to, x, timeout }: Call,
  request: Pick<UpstreamRequest, 'path' | 'headers' | 'body' | 'upgrade'>,
  handler: (cancel: () => void) => ResponseHandler,
): void {
  let gone = false
  let call: { cancel(): void } | undefined
  const cancel = (): void => {
    gone = true
    call?.cancel()
  }
  const { host, port, named, tls } = to.target
  const authority = port === (tls ? 443 : 80) ? host : `${host}:${port}`
  call = runtime.transport.dispatch(
    to.target,
    {
      method: x.request.method,
      authority: named && !x.authorityFixed ? authority : x.request.authority,
      ...request,
      timeout,
    },
    handler(cancel),
  )
  if (gone) call.cancel()
  else x.owns(call)
}

/** Client credentials in any provider's place; none of them goes out beside a configured key. */
const CREDENTIALS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']

function upstreamHeaders(received: HeaderList, { wire, key }: ProviderTarget): HeaderList {
  const headers = received.copy()
  if (key !== undefined) for (const name of CREDENTIALS) headers.delete(name)
  if (wire.credential === 'bearer') {
    if (key !== undefined) headers.set('authorization', `Bearer ${key}`)
  } else moveKey(headers, wire.credential, key)
  for (const name in wire.headers) if (!headers.has(name)) headers.append(name, wire.headers[name] as string)
  if (wire.dropHeaders) dropHeaders(headers, wire.dropHeaders)
  return headers
}

/** Puts a key where the provider reads it; subscription tokens (`sk-ant-oat`) stay bearer tokens. */
function moveKey(headers: HeaderList, name: string, key: string | undefined): void {
  const sent = /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '')?.[1]
  const token = key ?? sent
  if (token === undefined) return
  if (token.startsWith('sk-ant-oat')) {
    headers.delete(name)
    headers.set('authorization', `Bearer ${token}`)
    return
  }
  headers.delete('authorization')
  headers.set(name, token)
}

function dropHeaders(headers: HeaderList, drop: readonly string[]): void {
  for (const name of headers.names()) {
    if (drop.some(pattern => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern))) {
      headers.delete(name)
    }
  }
}

function unsupported(route: RouteType, format: Format | undefined, to: ProviderTarget): Error {
  const dialect: ErrorDialect = format?.errors ?? 'openai'
  const speaks = Object.keys(to.wire.formats).join(', ') || 'none'
  const error = new GatewayError('llmRequest', {
    detail: `unsupported conversion: from ${route} to provider ${to.provider} (supported: ${speaks})`,
  })
  return new GatewayError('llmRequest', { ...error.details, body: errorBody(dialect, error.status, error.message) })
}

function emit(x: Exchange, facts: LlmFacts): void {
  x.trace?.emit({
    type: 'llm',
    provider: facts.provider,
    model: facts.responseModel ?? facts.requestModel,
    streaming: facts.streaming,
    ...(facts.inputTokens === undefined ? {} : { inputTokens: facts.inputTokens }),
    ...(facts.outputTokens === undefined ? {} : { outputTokens: facts.outputTokens }),
  })
}

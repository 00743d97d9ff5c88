import { PRIMARY } from '../../../calls/call-record.ts'
import { derivedFrom } from '../../../calls/derived-exchange.ts'
import { wholeReply } from '../../../calls/dispatch.ts'
import { makeCall } from '../../../calls/outcall.ts'
import { authorityOf } from '../../../http/authority.ts'
import { GatewayError } from '../../../http/errors.ts'
import { bodyOf, type Exchange } from '../../../http/exchange.ts'
import { HeaderList } from '../../../http/headers.ts'
import { errorReply, INVALID_PARAMS, METHOD_NOT_FOUND, type RpcError } from '../../../mcp/errors.ts'
import { parseExact } from '../../../mcp/exact-json.ts'
import { isObject, type JsonObject, type Request, type Response } from '../../../mcp/message.ts'
import { ArgumentProblem } from '../../../mcp/openapi/argument-problem.ts'
import type { Operation } from '../../../mcp/openapi/operation.ts'
import { type ApiRequest, requestFor } from '../../../mcp/openapi/request.ts'
import { failedResult, toolResult } from '../../../mcp/openapi/result.ts'
import type { OpenApiTools } from '../../../mcp/openapi/tools.ts'
import { LATEST_SESSION_VERSION } from '../../../mcp/protocol.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { CallEvents, Cancel, Connection, ListenEvents, TargetFailure } from '../connection.ts'
import { type HttpTarget, OWN_FIELDS, placeOf } from '../upstream-call.ts'
import type { ToolSource } from './openapi-tools.ts'

/** An API as an MCP server: answers MCP requests here, and calls the API for each tool call. */
export class OpenApiConnection implements Connection {
  readonly session = undefined
  version: string | undefined
  readonly #runtime: Runtime
  readonly #target: HttpTarget
  readonly #source: ToolSource
  /** Bytes of a response. */
  readonly #limit: number

  constructor(runtime: Runtime, target: HttpTarget, source: ToolSource, limit: number) {
    this.#runtime = runtime
    this.#target = target
    this.#source = source
    this.#limit = limit
  }

  call(x: Exchange, request: Request, events: CallEvents): Cancel {
    const running = new Running(events)
    try {
      const tools = this.#source()
      if (tools instanceof Promise) {
        tools.then(known => this.#answer(x, request, known, running)).catch((error: unknown) => running.fail(error))
      } else this.#answer(x, request, tools, running)
    } catch (error) {
      running.fail(error)
    }
    return () => running.cancel()
  }

  /** Notifications have no counterpart in an API. */
  send(_x: Exchange, _bytes: Buffer, done: (failure?: TargetFailure) => void): void {
    done()
  }

  listen(_x: Exchange, events: ListenEvents): () => void {
    events.open()
    return () => {}
  }

  close(): undefined {
    return undefined
  }

  #answer(x: Exchange, request: Request, known: OpenApiTools, running: Running): void {
    if (running.over) return
    const { method, params } = request
    if (method !== 'tools/call') {
      running.reply(resultReply(request, method) ?? ownReply(request, known))
      return
    }
    const { name } = params
    const operation = typeof name === 'string' ? known.operations.get(name) : undefined
    if (operation) this.#callApi(x, request, operation, running)
    else
      running.reply(
        failedReply(request, { code: INVALID_PARAMS, message: `Unknown tool: ${String(name).slice(0, 128)}` }),
      )
  }

  #callApi(x: Exchange, request: Request, operation: Operation, running: Running): void {
    const uri = `openapi://${this.#target.name}/${String(request.params.name)}`
    const done = (result: JsonObject): void => running.reply(replyOf(request, result))
    try {
      const asked = requestFor(operation, argumentsOf(request), () => this.#runtime.uuid())
      const reply = wholeReply(this.#runtime.clock, 0, this.#limit, on => {
        const made = makeCall(this.#exchangeFor(x, asked), this.#target, this.#outcall(x), this.#runtime, on)
        running.cancels(() => made.cancel())
        return made
      })
      reply
        .then(({ status, headers, body }) => {
          const coding = headers.get('content-encoding')
          const type = headers.get('content-type')
          done(
            coding && coding !== 'identity'
              ? failedResult(`the API answered in ${coding}`)
              : toolResult({ status, type, body }, uri),
          )
        })
        .catch((error: unknown) => done(failedResult(`the API could not be asked: ${wordsFor(error)}`)))
    } catch (error) {
      if (!(error instanceof ArgumentProblem)) throw error
      done(failedResult(error.message))
    }
  }

  #outcall(x: Exchange) {
    const timeout = x.attempts.at(-1)?.timeout || this.#target.timeout || 0
    return { purpose: PRIMARY.Http, what: 'backend', timeout } as const
  }

  /** Client headers are forwarded as to any target, except those about MCP. */
  #exchangeFor(x: Exchange, { method, path, fields, body }: ApiRequest): Exchange {
    const place = placeOf(this.#target)
    if (place instanceof Error) throw place
    const own = new Set(fields.flatMap((field, i) => (i % 2 === 0 ? [field.toLowerCase()] : [])))
    const headers: string[] = []
    const { raw } = x.request.headers
    for (let i = 0; i < raw.length; i += 2) {
      const name = (raw[i] as string).toLowerCase()
      if (OWN_FIELDS.has(name) || own.has(name) || name.startsWith('mcp-') || name === 'last-event-id') continue
      headers.push(raw[i] as string, raw[i + 1] as string)
    }
    const length = body ? ['content-length', String(body.length)] : []
    const request = {
      method,
      scheme: place.tls ? ('https' as const) : ('http' as const),
      authority: authorityOf(place),
      path,
      headers: new HeaderList([...headers, ...fields, ...length], true),
    }
    const scope = `target ${this.#target.name}`
    return derivedFrom(x, { request, body: bodyOf(body), purpose: PRIMARY.Http, scope })
  }
}

/** One call, which completes once. */
class Running {
  over = false
  readonly #events: CallEvents
  #cancel: (() => void) | undefined

  constructor(events: CallEvents) {
    this.#events = events
  }

  reply(response: Response): void {
    if (this.over) return
    this.over = true
    this.#events.reply(response)
  }

  fail(error: unknown): void {
    if (this.over) return
    this.over = true
    this.#events.fail({ message: wordsFor(error), down: false })
  }

  cancels(cancel: () => void): void {
    this.#cancel = cancel
  }

  cancel(): void {
    if (this.over) return
    this.over = true
    this.#cancel?.()
  }
}

/** Other MCP methods that every server answers, here with empty results. */
const EMPTY: Readonly<Record<string, JsonObject>> = {
  ping: {},
  'prompts/list': { prompts: [] },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
}

function resultReply(request: Request, method: string): Response | undefined {
  const result = Object.hasOwn(EMPTY, method) ? EMPTY[method] : undefined
  return result && replyOf(request, result)
}

function ownReply(request: Request, { tools, title, version }: OpenApiTools): Response {
  if (request.method === 'tools/list') return replyOf(request, { tools })
  if (request.method !== 'initialize') {
    const message = `method not found: ${request.method.slice(0, 64)}`
    return failedReply(request, { code: METHOD_NOT_FOUND, message })
  }
  const asked = request.params.protocolVersion
  const serverInfo = { name: title, version }
  const known = typeof asked === 'string' && asked <= LATEST_SESSION_VERSION
  return replyOf(request, {
    protocolVersion: known ? asked : LATEST_SESSION_VERSION,
    capabilities: { tools: {} },
    serverInfo,
  })
}

function replyOf({ id }: Request, result: JsonObject): Response {
  const value = { jsonrpc: '2.0', id, result }
  return { kind: 'response', id, failed: false, value, bytes: Buffer.from(JSON.stringify(value)) }
}

function failedReply({ id }: Request, error: RpcError): Response {
  const text = errorReply(id, error)
  return { kind: 'response', id, failed: true, value: { jsonrpc: '2.0', id, error }, bytes: Buffer.from(text) }
}

/** Preserves numbers of any length as written. */
function argumentsOf({ bytes }: Request): unknown {
  const { params } = parseExact(bytes.toString()) as JsonObject
  return isObject(params) ? params.arguments : undefined
}

/** Shown to the client: no address, no path. */
function wordsFor(error: unknown): string {
  if (error instanceof GatewayError) return error.details.detail ?? error.message
  return error instanceof Error ? error.message : 'unknown'
}

import { initializeParams } from '../../mcp/initialize.ts'
import { fieldOf } from '../dry-run/dry-request.ts'
import type { DryOutcome, DryRequest } from '../dry-run/dry-run.ts'
import type { TestHeaders, TestRequest } from './test-file.ts'

/** What a case runs against: a dry gateway, or a running one. */
interface Subject {
  run(request: DryRequest): Promise<DryOutcome>
}

/** Sends the requests of one case, filling in what clients of their protocols send by default. */
export class TestClient {
  readonly #gateway: Subject
  /** MCP session ids, by place and caller. */
  readonly #sessions = new Map<string, string>()
  /** Requests that end the sessions opened by this client. */
  readonly #endings: DryRequest[] = []

  constructor(gateway: Subject) {
    this.#gateway = gateway
  }

  send(request: TestRequest): Promise<DryOutcome> {
    if (request.mcp !== undefined) return this.#callMcp(request, request.mcp)
    return this.#gateway.run(singleRequest(request))
  }

  /** Ends the MCP sessions: a running gateway would keep them, and their programs, until the idle timeout. */
  async close(): Promise<void> {
    for (const ending of this.#endings.splice(0)) {
      // The case has its result already.
      await this.#gateway.run(ending).catch(() => undefined)
    }
  }

  /** Opens the session first; if that is refused, it is the outcome of the request. */
  async #callMcp(request: TestRequest, method: string): Promise<DryOutcome> {
    const { params = {} } = request
    if (method === 'initialize') return (await this.#open(request, { ...GREETING, ...params })).opened
    // A session belongs to the caller that opened it.
    const { params: _, mcp: __, ...caller } = request
    const place = JSON.stringify(caller)
    if (!this.#sessions.has(place)) {
      const { opened, id } = await this.#open(request, GREETING)
      if (opened.status !== 200) return opened
      this.#sessions.set(place, id ?? '')
      await this.#rpc(request, { method: 'notifications/initialized' }, id)
    }
    return this.#rpc(request, { id: 2, method, params }, this.#sessions.get(place))
  }

  async #open(request: TestRequest, params: object): Promise<{ readonly opened: DryOutcome; readonly id?: string }> {
    const opened = await this.#rpc(request, { id: 1, method: 'initialize', params })
    const id = fieldOf(opened.headers, 'mcp-session-id')
    if (id === undefined) return { opened }
    const ending = { ...request, path: request.path ?? '/mcp', method: 'DELETE' }
    this.#endings.push(requestOf(ending, 'DELETE', [['mcp-session-id', id]], undefined))
    return { opened, id }
  }

  #rpc(request: TestRequest, message: object, session = ''): Promise<DryOutcome> {
    const own: Fields = [
      ['content-type', 'application/json'],
      ['accept', 'application/json, text/event-stream'],
      ...(session === '' ? [] : ([['mcp-session-id', session]] as const)),
    ]
    const dry = { ...request, path: request.path ?? '/mcp' }
    return this.#gateway.run(requestOf(dry, 'POST', own, JSON.stringify({ jsonrpc: '2.0', ...message })))
  }
}

const GREETING = initializeParams('gwctl test')

type Fields = readonly (readonly [name: string, value: string])[]

const JSON_FIELDS: Fields = [['content-type', 'application/json']]

/** The form of a request that needs no session. */
export function singleRequest(request: TestRequest): DryRequest {
  return request.llm === undefined ? plain(request) : prompt(request, request.llm)
}

function plain(request: TestRequest): DryRequest {
  const { json, body } = request
  const text = json === undefined ? body : JSON.stringify(json)
  return requestOf(request, text === undefined ? 'GET' : 'POST', json === undefined ? [] : JSON_FIELDS, text)
}

function prompt(request: TestRequest, format: 'chat' | 'messages'): DryRequest {
  const { model = 'test', system, user = '', stream } = request
  const streamed = stream === undefined ? {} : { stream }
  const said = { role: 'user', content: user }
  const first = system === undefined ? [] : [{ role: 'system', content: system }]
  const body =
    format === 'chat'
      ? { model, messages: [...first, said], ...streamed }
      : { model, max_tokens: 1024, ...(system === undefined ? {} : { system }), messages: [said], ...streamed }
  const path = request.path ?? (format === 'chat' ? '/v1/chat/completions' : '/v1/messages')
  return requestOf({ ...request, path }, 'POST', JSON_FIELDS, JSON.stringify(body))
}

/** `defaults`: headers that the case may override. */
function requestOf(request: TestRequest, method: string, defaults: Fields, body: string | undefined): DryRequest {
  const { url, path = '/', host, port, jwt, apiKey, source, sni } = request
  const own = fieldsOf(request.headers ?? {})
  const names = new Set(own.map(([name]) => name.toLowerCase()))
  const asked: Fields = host === undefined || names.has('host') ? [] : [['host', host]]
  return {
    method: request.method ?? method,
    url: url ?? path,
    headers: [...asked, ...defaults.filter(([name]) => !names.has(name)), ...own],
    body: body === undefined ? undefined : Buffer.from(body),
    port,
    jwt,
    apiKey,
    source,
    sni,
  }
}

export function fieldsOf(headers: TestHeaders): Fields {
  return Object.entries(headers).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map(each => [name, String(each)] as const),
  )
}

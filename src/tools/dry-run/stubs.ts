import { PRIMARY } from '../../calls/call-record.ts'
import { envoyReply } from './stub-envoy.ts'
import { guardReply } from './stub-guard.ts'
import { type LlmStub, modelReply } from './stub-llm.ts'
import { type McpStub, mcpReply } from './stub-mcp.ts'
import { providerReply } from './stub-provider.ts'
import { tokenReply } from './stub-token.ts'
import { jsonReply, type StubCall, type StubReply } from './stub-transport.ts'

/** The answer in place of a service. */
export interface Stub {
  /** 200 when unset. */
  readonly status?: number
  readonly headers?: readonly (readonly [name: string, value: string])[]
  /** `{}` when unset. Sent as JSON if it is, otherwise as plain text, unless `headers` set the type. */
  readonly body?: string | Buffer
  /** Delay in ms. */
  readonly delay?: number
  /** The service is unreachable. */
  readonly unreachable?: boolean
  /** Replaces `body`: a model's answer, in the API format of the call. */
  readonly llm?: LlmStub
  /** Replaces `body`: an MCP server. */
  readonly mcp?: McpStub
}

/**
 * By the name of a backend, an MCP target, an LLM provider or model, or by address (`host:port` or `host`). Several:
 * one per call in order; the last one repeats.
 */
export type Stubs = ReadonlyMap<string, Stub | readonly Stub[]>

/** The fallback stub. */
export const EVERYTHING = '*'

export interface Answered {
  /** Undefined if none applies. */
  readonly stub: string | undefined
  readonly reply: StubReply
}

/** Answers the calls of one gateway. Calls without a stub get 200 with the minimum that their protocol requires. */
export class StubSet {
  readonly #stubs: Stubs
  readonly #calls = new Map<string, number>()

  constructor(stubs: Stubs) {
    this.#stubs = stubs
  }

  /** `names`: of the called part, most specific first. */
  answer(call: StubCall, names: readonly string[]): Answered {
    const stub = [...names, EVERYTHING].find(each => this.#stubs.has(each))
    return { stub, reply: replyOf(stub === undefined ? {} : this.#next(stub), call) }
  }

  #next(name: string): Stub {
    const found = this.#stubs.get(name) ?? {}
    if (!isList(found)) return found
    const number = this.#calls.get(name) ?? 0
    this.#calls.set(name, number + 1)
    return found[Math.min(number, found.length - 1)] ?? {}
  }
}

function isList(stub: Stub | readonly Stub[]): stub is readonly Stub[] {
  return Array.isArray(stub)
}

function replyOf(stub: Stub, call: StubCall): StubReply {
  const envoy = envoyReply(stub, call)
  if (envoy) return envoy
  const { status = 200, headers = [], body, delay, unreachable } = stub
  const spoken = body === undefined && status < 400 ? spokenReply(stub, call) : undefined
  const made = spoken ?? (body === undefined ? jsonReply({}) : { headers: [typeOf(body)], body })
  const own = new Set(headers.map(([name]) => name.toLowerCase()))
  return {
    status: stub.status ?? spoken?.status ?? 200,
    headers: [...(made.headers ?? []).filter(([name]) => !own.has(name)), ...headers],
    ...(made.body === undefined ? {} : { body: made.body }),
    ...(delay === undefined ? {} : { delay }),
    ...(unreachable ? { unreachable } : {}),
  }
}

function typeOf(body: string | Buffer): readonly [string, string] {
  return ['content-type', isJson(String(body)) ? 'application/json' : 'text/plain']
}

function isJson(text: string): boolean {
  if (!/^\s*[[{"]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A reply in the protocol of the called part. Undefined for plain HTTP. */
function spokenReply({ mcp, llm }: Stub, call: StubCall): StubReply | undefined {
  // A named backend that an MCP target references is called as MCP.
  const kind = call.purpose === PRIMARY.Mcp ? 'mcp' : call.target.part?.kind
  if (mcp || kind === 'mcp') return mcpReply(mcp ?? {}, call)
  if (llm || kind === 'llm') return modelReply(llm ?? {}, call)
  return guardReply(call) ?? tokenReply(call) ?? providerReply(call)
}

import type { Readable } from 'node:stream'
import type { Origin } from '../diagnostics/diagnostic.ts'
import type { CallPurpose, RequestSpan } from '../trace/span.ts'
import type { TraceScope } from '../trace/trace-event.ts'
import type { Reason } from './errors.ts'
import type { FieldChange } from './field-change.ts'
import { HeaderList } from './headers.ts'
import type { GuardCheck, LlmFacts, TokenLimit } from './llm-facts.ts'

export type { CostCatalog, GuardCheck, LlmCost, LlmFacts, TokenLimit } from './llm-facts.ts'

/** The request line and header fields; policies write to it, and the upstream sees what is left. */
export interface RequestHead {
  method: string
  scheme: 'http' | 'https'
  /** Host, with a port if the client gave one. */
  authority: string
  /** Path and query; the path in the form that `frontendPolicies.http.pathNormalization` asks for, once it is served. */
  path: string
  headers: HeaderList
}

export interface ResponseHead {
  status: number
  headers: HeaderList
  /** Set when a policy asked for the whole body (`Hooks.buffersResponse`), or once a log has recorded it. */
  body?: Buffer
  /** Name, value, name, value; after the last byte. */
  trailers?: readonly string[]
}

/** A reply that the gateway makes by itself. */
export interface Reply {
  readonly status: number
  /** Name, value, name, value. */
  readonly headers: readonly string[]
  readonly body: string | Buffer | undefined
  readonly reason: Reason
  /** For log and trace; not sent. */
  readonly error?: string
  /** What gRPC clients are told in place of what `status` stands for (grpc.github.io, "Status codes"). */
  readonly grpcStatus?: number | undefined
}

export interface Admission {
  readonly changes: readonly FieldChange[]
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

/** What came in before any byte of HTTP. */
export interface ConnectionFacts {
  readonly id: number
  /** The client's, from a PROXY header where there was one. */
  address: string
  port: number
  /** The address and port that the client connected to. */
  readonly localPort: number
  readonly localAddress?: string
  /** What a service has said about the connection, for each of its requests. */
  admission?: Admission
  /** The TCP peer, where a PROXY header gave other addresses. */
  readonly peer?: { readonly address: string; readonly port: number }
  readonly tls?: {
    readonly sni: string | undefined
    readonly protocol: string
    readonly certificate?: Buffer
    /** The SPIFFE identity of the client's certificate. */
    readonly identity?: string
  }
}

/** The request body: a stream until somebody needs it whole. */
export interface BodySource {
  /** From `content-length`; undefined when chunked. */
  readonly length: number | undefined
  /** Set once `buffer` or `replace` has run. */
  readonly bytes: Buffer | undefined
  /**
   * Reads the whole body. Throws GatewayError `bodyTooLarge` past `limit` bytes, `bodyUnreadable` when the client leaves,
   * `bodyTimeout` when it is too slow, `bodyMemory` when all requests together hold too much.
   */
  buffer(limit: number): Promise<Buffer>
  /** The beginning, up to `limit` bytes, and whether that is all. The body stays whole for the next reader. Throws as `buffer` does, but for its length. */
  prefix(limit: number): Promise<BodyPrefix>
  replace(bytes: Buffer): void
  /** The bytes to send: a buffer when buffered, otherwise the client's own stream (once). Undefined: no body. */
  take(): Buffer | Readable | undefined
  /**
   * Fields that the client has sent behind the body, name by name, once it has ended. They go no further by themselves:
   * no policy has seen them.
   */
  readonly trailers?: readonly string[]
  /** The request is over: what was read whole is held no longer. */
  release?(): void
}

export interface BodyPrefix {
  readonly bytes: Buffer
  readonly whole: boolean
}

/** The named runtime objects that a request passes, as expressions, logs and traces see them. */
export interface ObjectFacts {
  readonly key: string
  readonly name: string
  readonly namespace: string
  readonly origin: Origin
}
export interface RouteFacts extends ObjectFacts {
  readonly ruleName: string | undefined
}

export interface AuthFacts {
  jwt?: Readonly<Record<string, unknown>>
  /** The token behind `jwt`; never shown. */
  rawToken?: string
  apiKey?: Readonly<Record<string, unknown>>
  basic?: { readonly username: string }
}

export interface McpFacts {
  method?: string
  sessionId?: string
  /** The upstream (unprefixed) name and its target. */
  tool?: { readonly name: string; readonly target: string }
  prompt?: { readonly name: string; readonly target: string }
  resource?: { readonly name: string; readonly target: string }
}

/** What a client has asked an agent for, and what of it is known. */
export interface A2aFacts {
  /** In the words of the client's protocol. */
  readonly method: string
  task?: string | undefined
  /** Of the task, as the agent said last. */
  state?: string | undefined
  /** JSON-RPC error code. */
  error?: number | undefined
}

/** Something that an MCP target offers, by the target's own name for it. */
export interface McpItem {
  readonly kind: 'tool' | 'prompt' | 'resource' | 'task'
  readonly name: string
  readonly target: string
  /** Of the call of a tool, as the client gives them; unset where the item is only listed. */
  readonly arguments?: unknown
}
/** Decides who may see and use an item; asked for each one, with the request that wants it. */
export interface McpRules {
  allows(x: Exchange, item: McpItem): boolean
}

/** An MCP message that a guard looks at. */
export interface McpChecked {
  readonly phase: 'request' | 'response'
  readonly method: string
  /** Whom it is for, or from. */
  readonly targets: readonly string[]
  /** Of `params` or `result`; undefined: it has nothing to look at. */
  readonly json: string | undefined
}
/** `mask`: goes on as `json` says; `reject`: the client gets `error`. */
export type McpVerdict =
  | { readonly action: 'allow' }
  | { readonly action: 'mask'; readonly json: string }
  | {
      readonly action: 'reject'
      readonly error: { readonly code: number; readonly message: string; readonly data?: unknown }
      readonly reason: string
    }
  | { readonly action: 'fail' | 'failOpen'; readonly error: string }
/** Looks at MCP messages; asked by the MCP backend, in the order of the list that it stands in. */
export interface McpGuard {
  /** Its kind in the file. */
  readonly name: string
  looksAt(method: string, phase: 'request' | 'response'): boolean
  check(x: Exchange, checked: McpChecked): Promise<McpVerdict>
}

export interface Attempt {
  readonly index: number
  /** Where the call goes: the backend's name until the backend has chosen an address. */
  target: string
  readonly startedAt: number
  /** ms that the call may take until its response head; 0 or unset: no limit of its own. */
  readonly timeout?: number
  /** ms until another attempt follows a failed one, where a policy says so. */
  readonly backoff?: number
  status?: number
  error?: string
  /** Milliseconds. */
  duration?: number
}

/** A policy where the configuration has put it. */
export interface PolicyPlace {
  readonly policy: string
  readonly origins: readonly Origin[]
}

/** Told when an exchange is over. */
export interface ExchangeObserver {
  /** Shows expressions the bodies that it has recorded. */
  reveal?(): void
  /** `duration` in ms. */
  finished(x: Exchange, duration: number): void
  /** Gives up what it has recorded. */
  release?(): void
}

const NO_RULES: readonly McpRules[] = []
const NO_GUARDS: readonly McpGuard[] = []

/**
 * The one mutable object of a request. Policies, backends, expressions, access log, metrics, spans, traces and dry runs
 * all read it; it can be built from plain data, so the whole pipeline runs without a socket.
 */
export class Exchange {
  readonly id: string
  readonly connection: ConnectionFacts
  /** Wall clock, ms since the epoch. */
  readonly startedAt: number
  /** Monotonic clock, ms. */
  readonly startedMono: number
  readonly httpVersion: string
  /** Of a call that the gateway makes beside the client's request; unset: this is a client's. */
  readonly purpose: CallPurpose | undefined
  readonly request: RequestHead
  body: BodySource
  /** As it came from the client: the fields are shared with `request` until the first write copies them. */
  readonly received: Readonly<RequestHead>

  bind: { readonly key: string; readonly port: number } | undefined
  listener: ObjectFacts | undefined
  route: RouteFacts | undefined
  /** The path prefix that the matched rule ended on, for prefix rewrites; undefined when it matched otherwise. */
  matchedPrefix: string | undefined
  /** What the matched rule wants of the path, for the names of spans. */
  matchedPath:
    | { readonly exact?: string; readonly pathPrefix?: string; readonly regex?: { readonly source: string } }
    | undefined
  backend:
    | {
        /** Unset where nothing but a name is known. */
        readonly key?: string
        readonly name: string
        readonly kind: string
        readonly protocol: 'http' | 'tcp' | 'a2a' | 'mcp' | 'llm'
      }
    | undefined
  /** The protocol that the client asks to switch to (`websocket`); undefined for an ordinary request. */
  upgrade: string | undefined
  /** True once a policy has fixed the authority; the upstream's own name is not written over it. */
  authorityFixed = false

  readonly auth: AuthFacts = {}
  llm: LlmFacts | undefined
  mcp: McpFacts | undefined
  a2a: A2aFacts | undefined
  /** The MCP authorization in force; all of them must allow. */
  mcpRules: readonly McpRules[] = NO_RULES
  mcpGuards: readonly McpGuard[] = NO_GUARDS
  /** Names set by earlier steps for later expressions. */
  readonly metadata: Record<string, unknown> = {}
  /** Maps that outside services returned, each shown under the variable of that name. */
  readonly external: {
    extauthz?: Readonly<Record<string, unknown>>
    extproc?: Readonly<Record<string, unknown>>
    mcpGuardrails?: Readonly<Record<string, unknown>>
  } = {}
  readonly attempts: Attempt[] = []

  /** The policy that ended the way by a reply or a failure: those behind it have no part in the response. */
  stoppedAt: PolicyPlace | undefined
  /** The rule of it that refused, as it is written. */
  refusedBy: string | undefined
  /** The policy whose answer it waits for, while it does. */
  waitingIn: PolicyPlace | undefined
  response: ResponseHead | undefined
  /** Merged into the response last, replacing fields of the same name: CORS, x-ratelimit-*. */
  readonly queuedHeaders: string[] = []
  /** Made to the response after those: what services that were asked want there. */
  readonly queuedChanges: FieldChange[] = []
  reason: Reason = 'Upstream'
  error: string | undefined
  responseBytes = 0
  endedMono: number | undefined
  /** When the response head was given to the client's end, monotonic. */
  answeredMono: number | undefined
  trace: TraceScope | undefined
  /** Set when the exchange is part of a trace that is exported. */
  span: RequestSpan | undefined
  /** What the configuration that was in force at its start wants to be told at its end. */
  observer: ExchangeObserver | undefined
  /** Among the requests that are being served, while it is one of them. */
  place: number | undefined
  /** Limits on LLM tokens that the request stands under. */
  tokenLimits: TokenLimit[] | undefined
  /** What those have given for it so far. */
  tokensTaken = 0
  /** What guards have decided, for the metrics. */
  guardChecks: GuardCheck[] | undefined
  #aborted = false
  #onAbort: (() => void)[] | undefined
  #calls: Cancelable[] | undefined

  constructor(init: {
    id: string
    connection: ConnectionFacts
    startedAt: number
    startedMono: number
    httpVersion: string
    request: RequestHead
    /** The path as logs may show it; unset: as it is. */
    shownPath?: string | undefined
    body: BodySource
    purpose?: CallPurpose | undefined
  }) {
    this.id = init.id
    this.connection = init.connection
    this.startedAt = init.startedAt
    this.startedMono = init.startedMono
    this.httpVersion = init.httpVersion
    this.purpose = init.purpose
    this.request = init.request
    this.body = init.body
    const { request } = init
    this.received = { ...request, path: init.shownPath ?? request.path, headers: request.headers.copy() }
  }

  /** True once the client has gone: nothing more is sent, upstream calls end. */
  get aborted(): boolean {
    return this.#aborted
  }

  /** Runs `then` when the client leaves before the reply is complete; at once if it already has. */
  onAbort(then: () => void): void {
    if (this.#aborted) then()
    else if (this.#onAbort) this.#onAbort.push(then)
    else this.#onAbort = [then]
  }

  /** An upstream call that is made for the reply: it ends with the exchange at the latest, however that ends. */
  owns(call: Cancelable): void {
    if (this.#aborted) call.cancel()
    else if (this.#calls) this.#calls.push(call)
    else this.#calls = [call]
  }

  abort(): void {
    if (this.#aborted) return
    this.#aborted = true
    const waiting = this.#onAbort
    this.#onAbort = undefined
    if (waiting) for (const then of waiting) then()
    this.endCalls()
  }

  /** Nobody wants what still comes: the body of an answer that another attempt followed, or that became an error. */
  endCalls(): void {
    const calls = this.#calls
    this.#calls = undefined
    if (calls) for (const call of calls) call.cancel()
  }
}

interface Cancelable {
  cancel(): void
}

/** A request body that is already in memory: tests, dry runs, replays. */
export function bodyOf(bytes: Buffer | undefined): BodySource {
  let held = bytes
  return {
    get length() {
      return held?.length ?? 0
    },
    get bytes() {
      return held
    },
    buffer: async () => held ?? Buffer.alloc(0),
    prefix: async limit => prefixOf(held ?? Buffer.alloc(0), limit),
    replace: next => {
      held = next
    },
    take: () => (held && held.length > 0 ? held : undefined),
  }
}

export function prefixOf(body: Buffer, limit: number): BodyPrefix {
  return { bytes: body.subarray(0, limit), whole: body.length <= limit }
}

export function emptyHead(): RequestHead {
  return { method: 'GET', scheme: 'http', authority: '', path: '/', headers: new HeaderList() }
}

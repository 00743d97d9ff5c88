import { X509Certificate } from 'node:crypto'
import { Duration } from '@marcbachmann/cel-js/evaluator'
import { type AltName, altNames, spiffeIdOf } from '../http/alt-names.ts'
import type { Exchange } from '../http/exchange.ts'
import { HeaderList } from '../http/headers.ts'
import { HeaderView } from './header-view.ts'
import { JsonMap, Secret, wrap } from './json-view.ts'
import { fieldNames } from './variables.ts'
import { UNREAD, View } from './view.ts'

/** Settings shared by all expressions of one compiler. */
export interface ViewSettings {
  readonly environment: EnvironmentFacts
  /** Lower-case names of the header fields that `.redacted()` hides. */
  readonly sensitive: ReadonlySet<string>
}

/** The content of `env`. */
export interface EnvironmentFacts {
  readonly podName?: string
  readonly namespace?: string
  readonly gateway?: string
}

/** Passed as `response` in the `extra` of an evaluation. Bodies are present only if buffered. */
export interface ResponseFacts {
  readonly status: number
  readonly headers: HeaderList
  readonly body?: Buffer
  readonly bodyPrefix?: Buffer
  readonly grpcStatus?: number
  readonly trailers?: readonly string[]
}

function trailerIn(flat: readonly string[] | undefined, name: string): string | undefined {
  const at = flat?.findIndex((field, i) => i % 2 === 0 && field.toLowerCase() === name) ?? -1
  return at < 0 ? undefined : flat?.[at + 1]
}

const NAMES = Object.fromEntries(
  ['request', 'response', 'source', 'llm'].map(root => [root, fieldNames(root)] as const),
) as Readonly<Record<'request' | 'response' | 'source' | 'llm', readonly string[]>>

class RequestView extends View {
  readonly #x: Exchange
  readonly #sensitive: ReadonlySet<string>

  constructor(x: Exchange, { sensitive }: ViewSettings) {
    super()
    this.#x = x
    this.#sensitive = sensitive
  }

  protected override names(): readonly string[] {
    return NAMES.request
  }

  get method(): string {
    return this.#x.request.method
  }
  get uri(): string {
    const { scheme, authority, path } = this.#x.request
    return authority === '' ? path : `${scheme}://${authority}${path}`
  }
  get host(): string {
    return this.#x.request.authority
  }
  get scheme(): string {
    return this.#x.request.scheme
  }
  get path(): string {
    const { path } = this.#x.request
    const query = path.indexOf('?')
    return query < 0 ? path : path.slice(0, query)
  }
  get pathAndQuery(): string {
    return this.#x.request.path
  }
  get version(): string {
    const version = this.#x.httpVersion.replace(/^HTTP\//i, '')
    return `HTTP/${version === '2' ? '2.0' : version}`
  }
  get headers(): HeaderView {
    return new HeaderView(this.#x.request.headers, this.#sensitive)
  }
  get body(): Buffer | typeof UNREAD {
    const { bytes, length } = this.#x.body
    return bytes ?? (length === 0 ? Buffer.alloc(0) : UNREAD)
  }
  get bodyPrefix(): Buffer | typeof UNREAD {
    return this.body
  }
  get startTime(): Date {
    return new Date(this.#x.startedAt)
  }
  get endTime(): Date | undefined {
    const { endedMono, startedAt, startedMono } = this.#x
    return endedMono === undefined ? undefined : new Date(startedAt + endedMono - startedMono)
  }
}

class ResponseView extends View {
  readonly #facts: ResponseFacts
  readonly #sensitive: ReadonlySet<string>

  constructor(facts: ResponseFacts, { sensitive }: ViewSettings) {
    super()
    this.#facts = facts
    this.#sensitive = sensitive
  }

  protected override names(): readonly string[] {
    return NAMES.response
  }

  get code(): bigint {
    return BigInt(this.#facts.status)
  }
  get grpcStatus(): bigint | undefined {
    const { grpcStatus, headers, trailers } = this.#facts
    const status = grpcStatus ?? headers.get('grpc-status') ?? trailerIn(trailers, 'grpc-status')
    return status === undefined || !/^[0-9]{1,3}$/.test(String(status)) ? undefined : BigInt(status)
  }
  get headers(): HeaderView {
    return new HeaderView(this.#facts.headers, this.#sensitive)
  }
  get body(): Buffer | undefined {
    return this.#facts.body
  }
  get bodyPrefix(): Buffer | undefined {
    return this.#facts.bodyPrefix ?? this.#facts.body
  }
}

class SourceView extends View {
  readonly #x: Exchange
  #parsed: X509Certificate | undefined

  constructor(x: Exchange) {
    super()
    this.#x = x
  }

  protected override names(): readonly string[] {
    return NAMES.source
  }

  get address(): string {
    return this.#x.connection.address
  }
  get port(): bigint {
    return BigInt(this.#x.connection.port)
  }
  get rawAddress(): string {
    return (this.#x.connection.peer ?? this.#x.connection).address
  }
  get rawPort(): bigint {
    return BigInt((this.#x.connection.peer ?? this.#x.connection).port)
  }
  get certificate(): string | undefined {
    return this.#certificate()?.toString()
  }
  get subject(): string | undefined {
    return oneLine(this.#certificate()?.subject)
  }
  get issuer(): string | undefined {
    return oneLine(this.#certificate()?.issuer)
  }
  get subjectCn(): string | undefined {
    return /^CN=(.*)$/m.exec(this.#certificate()?.subject ?? '')?.[1]
  }
  get subjectAltNames(): readonly string[] | undefined {
    return this.#altNames()?.map(({ kind, name }) => (PLAIN_KINDS.has(kind) ? name : `${kind}:${name}`))
  }
  get spiffeId(): string | undefined {
    return spiffeIdOf(this.#altNames() ?? [])
  }
  get identity(): unknown {
    const parts = /^spiffe:\/\/([^/]+)\/ns\/([^/]+)\/sa\/([^/]+)$/.exec(this.spiffeId ?? '')
    return parts ? wrap({ trustDomain: parts[1], namespace: parts[2], serviceAccount: parts[3] }) : undefined
  }

  #altNames(): readonly AltName[] | undefined {
    const names = this.#certificate()?.subjectAltName
    return names === undefined ? undefined : altNames(names)
  }

  #certificate(): X509Certificate | undefined {
    const bytes = this.#x.connection.tls?.certificate
    if (bytes && bytes.length > 0) this.#parsed ??= new X509Certificate(bytes)
    return this.#parsed
  }
}

/** Kinds of certificate names that are shown without a prefix. */
const PLAIN_KINDS: ReadonlySet<string> = new Set(['DNS', 'URI', 'IP Address', 'email'])

function oneLine(name: string | undefined): string | undefined {
  return name?.split('\n').reverse().join(',')
}

/** Classes to register with the library, their readable fields, and the variable they belong to. */
export const VIEW_CLASSES = [
  { variable: 'request', name: 'RequestView', ctor: RequestView, fields: NAMES.request },
  { variable: 'response', name: 'ResponseView', ctor: ResponseView, fields: NAMES.response },
  { variable: 'source', name: 'SourceView', ctor: SourceView, fields: NAMES.source },
] as const

type Build = (x: Exchange, settings: ViewSettings) => unknown

/** `backend.type` by kind of backend. */
const BACKEND_TYPES: Readonly<Record<string, string>> = {
  host: 'static',
  ai: 'ai',
  mcp: 'mcp',
  dynamic: 'dynamic',
  service: 'service',
}

/** The value of each variable for one exchange; undefined if it has none. */
const BUILD: Readonly<Record<string, Build>> = {
  request: (x, settings) => new RequestView(x, settings),
  response: (x, settings) => (x.response ? new ResponseView(x.response, settings) : undefined),
  source: x => new SourceView(x),
  destination: x =>
    filled({
      address: x.connection.localAddress,
      port: BigInt(x.connection.localPort),
      hostname: x.connection.tls?.sni,
    }),
  jwt: x => x.auth.jwt && new JsonMap(x.auth.jwt, 0, secretField('rawToken', x.auth.rawToken)),
  apiKey: x => x.auth.apiKey && new JsonMap(x.auth.apiKey, 0, secretField('key', x.auth.apiKey.key)),
  basicAuth: x => x.auth.basic && filled({ username: x.auth.basic.username }),
  backend: x =>
    x.backend &&
    filled({ name: x.backend.name, type: BACKEND_TYPES[x.backend.kind] ?? 'unknown', protocol: x.backend.protocol }),
  proxy: proxyFacts,
  env: (_, settings) => filled({ ...settings.environment }),
  llm: llmFacts,
  llmRequest: x => x.llm?.request && wrap(x.llm.request),
  mcp: x => x.mcp && filled({ ...x.mcp, method: undefined, methodName: x.mcp.method }),
  metadata: x => wrap(x.metadata),
  extauthz: x => x.external.extauthz && wrap(x.external.extauthz),
  extproc: x => x.external.extproc && wrap(x.external.extproc),
  mcpGuardrails: x => x.external.mcpGuardrails && wrap(x.external.mcpGuardrails),
}

export function buildVariable(name: string, x: Exchange, settings: ViewSettings): unknown {
  return BUILD[name]?.(x, settings)
}

/** A value passed by the caller in place of the exchange's own. */
export function fromExtra(name: string, value: unknown, settings: ViewSettings): unknown {
  if (name === 'response' && isResponse(value)) return new ResponseView(value, settings)
  return wrap(value)
}

function isResponse(value: unknown): value is ResponseFacts {
  return typeof value === 'object' && value !== null && (value as { headers?: unknown }).headers instanceof HeaderList
}

function secretField(name: string, value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'string' ? { [name]: new Secret(value) } : undefined
}

/** A map without undefined fields. */
function filled(fields: Readonly<Record<string, unknown>>): JsonMap {
  return new JsonMap(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)))
}

function proxyFacts(x: Exchange): JsonMap {
  const { bind, listener, route, attempts } = x
  const upstream = attempts.reduce((sum, attempt) => sum + (attempt.duration ?? 0), 0)
  const first = attempts[0]
  const last = attempts.at(-1)
  const answered = last?.duration === undefined ? undefined : last.startedAt + last.duration
  return filled({
    bind: bind?.key,
    gateway: listener && { namespace: listener.namespace, name: 'default' },
    listener: listener && { name: listener.name },
    route: route && {
      namespace: route.namespace,
      name: route.name,
      ...(route.ruleName === undefined ? {} : { rule: route.ruleName }),
    },
    requestProcessingDuration: first && milliseconds(first.startedAt - x.startedMono),
    upstreamDuration: first && milliseconds(upstream),
    responseProcessingDuration:
      answered === undefined || x.answeredMono === undefined
        ? undefined
        : milliseconds(Math.max(0, x.answeredMono - answered)),
  })
}

function llmFacts(x: Exchange): JsonMap | undefined {
  if (!x.llm) return undefined
  const { request: _, operation: __, prices, timeToFirstToken, ...facts } = x.llm
  const cost = prices?.lookUp(x.llm).cost
  return filled({
    ...facts,
    cost: cost && filled({ total: cost.total, ...cost.parts }),
    costRates: cost && filled(cost.rates),
    timeToFirstToken: timeToFirstToken === undefined ? undefined : milliseconds(timeToFirstToken),
  })
}

function milliseconds(ms: number): Duration {
  const nanos = BigInt(Math.round(ms * 1e6))
  return new Duration(nanos / 1_000_000_000n, Number(nanos % 1_000_000_000n))
}

import { callWhole } from '../../../calls/dispatch.ts'
import { urlTarget } from '../../../calls/url-callee.ts'
import type { Path } from '../../../diagnostics/diagnostic.ts'
import { HeaderList } from '../../../http/headers.ts'
import { readDocument } from '../../../mcp/openapi/document.ts'
import { type OpenApiTools, type Remark, toolsOf } from '../../../mcp/openapi/tools.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { BackendContext } from '../../backend.ts'
import { endpointUrl, type OpenApiSpec } from '../schema.ts'

/** The tools that an API's document defines. Throws an error with a message for the client while there is none. */
export type ToolSource = () => OpenApiTools | Promise<OpenApiTools>

/** ms that a document is cached, and between attempts to fetch one. */
const FRESH = 5 * 60_000
const PAUSE = 10_000
const TIMEOUT = 10_000
/** bytes. */
const MAX_DOCUMENT = 16 * 1024 * 1024

const CODES = { empty: 'GW587', unnamed: 'GW588', repeated: 'GW589', partial: 'GW589' } as const

export function isRemote({ schema }: OpenApiSpec): boolean {
  return typeof schema === 'object' && schema.url !== undefined
}

/** The tools of a target. Undefined after a finding. */
export function openApiTools(spec: OpenApiSpec, at: Path, ctx: BackendContext): ToolSource | undefined {
  const { schema } = spec
  const base = basePath(spec)
  if (typeof schema === 'object' && schema.url) {
    const { url } = schema
    return ctx.state(`openapi ${base ?? ''} ${url.href}`, () => new RemoteDocument(url, base, ctx.runtime)).tools
  }
  const file = typeof schema === 'object' ? schema.file : undefined
  const path = file === undefined ? [...at, 'schema'] : [...at, 'schema', 'file']
  const text = file === undefined ? (schema as string) : ctx.readFile(file, path)?.toString('utf8')
  if (text === undefined) return () => NO_TOOLS
  const document = readDocument(text)
  if (isProblem(document)) {
    const code = file === undefined ? 'GW106' : 'GW207'
    ctx.report({ code, message: `not usable: ${document.problem}`, path, at: 'value', label: 'no OpenAPI 3 document' })
    return undefined
  }
  const tools = toolsOf(document, base)
  for (const [kind, remarks] of Map.groupBy(tools.remarks, ({ kind }) => kind)) {
    ctx.report({ code: CODES[kind], message: shortened(remarks), path, at: 'value', help: HELP[kind] })
  }
  return () => tools
}

const NO_TOOLS = toolsOf({})

const HELP: Readonly<Record<Remark['kind'], string>> = {
  empty: 'describe at least one operation under `paths`',
  unnamed: 'give each operation an `operationId`: clients and rules know the tool by it',
  repeated: 'give each operation an `operationId` of its own',
  partial: 'correct the document',
}
const SHOWN = 3

function shortened(remarks: readonly Remark[]): string {
  const more = remarks.length - SHOWN
  const shown = remarks.slice(0, SHOWN).map(({ message }) => message)
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

function basePath({ host, path }: OpenApiSpec): string | undefined {
  if (path !== undefined) return path
  const given = host === undefined ? undefined : endpointUrl(host)?.pathname
  return given === undefined || given === '/' ? undefined : given
}

function isProblem(document: object): document is { readonly problem: string } {
  return !('openapi' in document)
}

/** A document fetched on first use. If a refresh fails, the previous one stays. */
class RemoteDocument {
  readonly #url: URL
  readonly #base: string | undefined
  readonly #runtime: Runtime
  #tools: OpenApiTools | undefined
  #problem = 'has not been fetched'
  #askedAt = Number.NEGATIVE_INFINITY
  #pending: Promise<void> | undefined

  constructor(url: URL, base: string | undefined, runtime: Runtime) {
    this.#url = url
    this.#base = base
    this.#runtime = runtime
  }

  readonly tools: ToolSource = () => {
    const age = this.#runtime.clock.mono() - this.#askedAt
    if (this.#pending === undefined && age >= (this.#tools ? FRESH : PAUSE)) {
      this.#askedAt = this.#runtime.clock.mono()
      this.#pending = this.#fetch().finally(() => {
        this.#pending = undefined
      })
    }
    return this.#tools ?? this.#waited()
  }

  async #waited(): Promise<OpenApiTools> {
    await this.#pending
    if (this.#tools) return this.#tools
    throw new Error(`the OpenAPI document of the target ${this.#problem}`)
  }

  async #fetch(): Promise<void> {
    const url = this.#url
    const { log } = this.#runtime
    try {
      const request = { method: 'GET', path: url.pathname + url.search, authority: url.host, timeout: TIMEOUT }
      const headers = new HeaderList(['accept', 'application/json, application/yaml;q=0.9, */*;q=0.5'])
      const target = urlTarget(url)
      const reply = await callWhole(this.#runtime, target, { ...request, headers, body: undefined }, MAX_DOCUMENT)
      if (reply.status !== 200) throw new Error(`status ${reply.status}`)
      const document = readDocument(reply.body.toString('utf8'))
      if (isProblem(document)) throw new Error(document.problem)
      this.#tools = toolsOf(document, this.#base)
      for (const { message } of this.#tools.remarks) log.log('warn', 'OpenAPI document', { url: url.host, message })
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown'
      this.#problem = `cannot be read: ${reason}`
      log.log('warn', 'OpenAPI document cannot be read', { url: url.origin + url.pathname, reason })
    }
  }
}

import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

export const CASES = fileURLToPath(new URL('../../../fixtures/differential/', import.meta.url))

/** What an upstream answers. Without one: 200, `text/plain`, its own name as the body. */
export interface UpstreamReply {
  /** Answers paths with this text only: the systems ask a provider in different formats. */
  readonly path?: string
  readonly status?: number
  /** `name: value` lines. */
  readonly headers?: readonly string[]
  readonly body?: string
  /** A body of Amazon's event stream: the name and the content of each frame. */
  readonly frames?: readonly (readonly [name: string, content: object])[]
  /** The bytes of the answer, after which the connection ends. */
  readonly raw?: string
  /** The message of a service over gRPC, or `{code, details}`. */
  readonly grpc?: Readonly<Record<string, unknown>>
  /** ms until it answers. */
  readonly after?: number
  /** Does not answer, or ends the connection instead. */
  readonly instead?: 'silence' | 'reset'
}

export interface CaseRequest {
  readonly name: string
  readonly method?: string
  readonly path?: string
  /** `name: value` lines; a `host` and a `content-length` are added where they are missing. */
  readonly headers?: readonly string[]
  readonly body?: string | { readonly repeat: string; readonly times: number }
  /** The port of the configuration; the first one when unset. */
  readonly port?: number
  readonly http?: 1 | 2
  /** The name that TLS asks for; plain text when unset. */
  readonly sni?: string
  /** The bytes of a whole connection, instead of all above. */
  readonly raw?: string
  /** Sent after the switch of protocols; as many bytes are read back. */
  readonly upgraded?: string
  /** The access log has no record of it. */
  readonly unlogged?: boolean
  /** For each call of an upstream in turn; the last one stays. */
  readonly reply?: UpstreamReply | readonly UpstreamReply[]
  /** Calls of upstreams to wait for, where they are made beside the request. */
  readonly calls?: number
}

/** `envoy`: external authorization, processing and rate limits over gRPC. */
export type UpstreamKind = 'http1' | 'http2' | 'tls' | 'closed' | 'envoy'

/** Where gwctl answers otherwise, on purpose. */
export interface ExpectedDifference {
  /** `request name/field` as in compare.ts; `*` stands for any request. */
  readonly at: string | readonly string[]
  /** null: gwctl has no such field. */
  readonly ours: string | null
  /** An anchor of docs/differences.md. */
  readonly reason: string
}

export interface Case {
  readonly title: string
  /** `{{name}}` in `config` and `requests` becomes the text of a variable, or the `host:port` of an upstream. */
  readonly vars?: Readonly<Record<string, string>>
  readonly upstreams?: Readonly<Record<string, UpstreamKind>>
  readonly config: Record<string, unknown>
  readonly requests: readonly CaseRequest[]
  /** Instead of `config` and `requests`: expressions whose values are compared. */
  readonly expressions?: readonly string[]
  /** Compared beside the replies: the fields of access log records, or the series of requests. */
  readonly observe?: readonly ('log' | 'text log' | 'metrics')[]
  readonly differs?: readonly ExpectedDifference[]
  /** Bodies are compared by what they say as JSON: without order, members that are null, and the time of creation. */
  readonly json?: boolean
}

export interface CaseFile extends Case {
  /** `topic/case`. */
  readonly id: string
  readonly recording: string
}

export function readCases(): CaseFile[] {
  return readdirSync(CASES, { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.yaml'))
    .sort()
    .map(path => {
      const file = join(CASES, path)
      const id = relative(CASES, file).slice(0, -'.yaml'.length)
      const recording = file.replace(/\.yaml$/, '.recorded.json')
      return { ...(parse(readFileSync(file, 'utf8')) as Case), id, recording }
    })
}

/** The ports that the configuration opens, in order. */
export function portsOf(config: Case['config']): number[] {
  const { binds = [], gateways = {} } = config as {
    binds?: { port: number }[]
    gateways?: Record<string, { port: number }>
  }
  return [...binds, ...Object.values(gateways)].map(({ port }) => port)
}

export function substitute<T>(value: T, names: Readonly<Record<string, string>>): T {
  const text = JSON.stringify(value).replace(/\{\{(\w+)\}\}/g, (whole, name: string) =>
    names[name] === undefined ? whole : JSON.stringify(names[name]).slice(1, -1),
  )
  return JSON.parse(text) as T
}

/** Names and values in turn, as `name: value` lines. */
export function lines(raw: readonly string[]): string[] {
  return raw.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${raw[i + 1]}`] : []))
}

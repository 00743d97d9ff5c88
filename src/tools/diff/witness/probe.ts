import { Failure } from '../../../diagnostics/failure.ts'
import { askedFor } from '../../dry-run/dry-request.ts'
import type { DryRequest } from '../../dry-run/dry-run.ts'
import type { McpStub } from '../../dry-run/stub-mcp.ts'
import type { Facts } from './conditions.ts'

/** A request with its environment. */
export interface Probe {
  readonly request: DryRequest
  /** For a recorded request, which may contain credentials. */
  readonly shown?: ShownRequest
  /** What to display besides method and URL: `role=contractor`. */
  readonly words: readonly string[]
  /** How often it is sent in succession. */
  readonly calls: number
  /** How every backend responds, where that matters. */
  readonly upstream?: { readonly delay?: number; readonly status?: number }
  /** Sent within an MCP session, to servers that offer this. */
  readonly mcp?: McpStub
}

/** A request without credential values. */
export interface ShownRequest extends Pick<DryRequest, 'url' | 'headers'> {
  /** The hidden values of its parameters, which calls to backends and redirects repeat. */
  readonly hidden: readonly string[]
}

/** A host that no configuration matches by name. */
export const SOME_HOST = 'localhost'

/** The same request from another caller. */
export function askedBy(probe: Probe, facts: Facts): Probe {
  const { claims, keyMetadata, headers = {}, method, path, source } = facts
  return {
    ...probe,
    request: {
      ...probe.request,
      url: path === undefined ? probe.request.url : elsewhere(probe.request.url, { pathname: path }),
      method: method ?? probe.request.method,
      headers: withHeaders(probe.request.headers, headers),
      ...(claims === undefined ? {} : { jwt: claims }),
      ...(keyMetadata === undefined ? {} : { apiKey: keyMetadata }),
      ...(source === undefined ? {} : { source }),
    },
    words: [...probe.words, ...factWords(facts)],
  }
}

export function elsewhere(url: string, change: { readonly pathname?: string; readonly hostname?: string }): string {
  return Object.assign(new URL(url), change).href
}

export function withHeaders(
  fields: DryRequest['headers'],
  changes: Readonly<Record<string, string>>,
): DryRequest['headers'] {
  const names = new Set(Object.keys(changes).map(name => name.toLowerCase()))
  return [...fields.filter(([name]) => !names.has(name.toLowerCase())), ...Object.entries(changes)]
}

/** Whether the gateway would process the request: without a valid host and path, it only answers 400. */
export function canArrive(request: DryRequest): boolean {
  try {
    askedFor(request)
    return true
  } catch (error) {
    if (error instanceof Failure) return false
    throw error
  }
}

function factWords({ claims, keyMetadata, headers = {}, source }: Facts): string[] {
  return [
    ...(claims === undefined ? [] : Object.keys(claims).length === 0 ? ['a token'] : entryWords(claims)),
    ...(keyMetadata === undefined
      ? []
      : Object.keys(keyMetadata).length === 0
        ? ['an API key']
        : [`an API key of ${entryWords(keyMetadata).join(', ')}`]),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(source === undefined ? [] : [`from ${source}`]),
  ]
}

function entryWords(entries: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(entries).map(([name, value]) => {
    return `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`
  })
}

import { Readable } from 'node:stream'
import type { UpstreamRequest } from '../../http/transport.ts'
import { consistsOf, TARGET, TEXT, TOKEN } from '../http1-syntax.ts'
import { requestFailure } from './failure.ts'
import { fieldKind } from './hop-by-hop.ts'

export interface WireHead {
  /** Up to and including the empty line; one byte per character. */
  readonly text: string
  /** Announced bytes of a streamed body; -1 if chunked. */
  readonly length: number
}

/** Throws GatewayError if anything cannot be serialized without changing its meaning. */
export function wireHead(request: UpstreamRequest): WireHead {
  const problem = lineProblem(request)
  if (problem !== undefined) throw requestFailure(problem)
  const { method, path, authority, body, upgrade } = request
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${authority}\r\n`
  if (upgrade !== undefined) {
    if (!consistsOf(upgrade, TOKEN)) throw requestFailure('invalid upgrade')
    text += `connection: upgrade\r\nupgrade: ${upgrade}\r\n`
  }
  const fields = request.headers.raw
  let length = -1
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    const value = fields[i + 1] as string
    const kind = fieldKind(name)
    if (kind === 'content-length') length = announced(value, length)
    if (kind !== 'keep') continue
    checkField(name, value)
    text += `${name}: ${value}\r\n`
  }
  if (body instanceof Readable) {
    text += length < 0 ? 'transfer-encoding: chunked\r\n\r\n' : `content-length: ${length}\r\n\r\n`
    return { text, length }
  }
  const size = body === undefined ? 0 : body.length
  text += size > 0 || expectsBody(method) ? `content-length: ${size}\r\n\r\n` : '\r\n'
  return { text, length: size }
}

/** Why method, path and authority cannot be serialized, in any HTTP version; undefined if they can. */
export function lineProblem({ method, path, authority }: UpstreamRequest): string | undefined {
  if (!consistsOf(method, TOKEN)) return 'invalid method'
  if (!consistsOf(path, TARGET)) return 'invalid path'
  return consistsOf(authority, TARGET) ? undefined : 'invalid authority'
}

/** Throws GatewayError if a field cannot be serialized. */
export function checkField(name: string, value: string): void {
  if (!consistsOf(name, TOKEN)) throw requestFailure('invalid header name')
  if (value !== '' && !consistsOf(value, TEXT)) throw requestFailure(`invalid value of header ${name}`)
}

function announced(value: string, before: number): number {
  if (before >= 0 || !/^\d{1,15}$/.test(value)) throw requestFailure('invalid content-length')
  return Number(value)
}

/** RFC 9110 8.6: these send `content-length: 0` without a body. */
function expectsBody(method: string): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH'
}

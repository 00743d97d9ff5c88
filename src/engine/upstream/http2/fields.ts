import { Readable } from 'node:stream'
import type { UpstreamRequest } from '../../../http/transport.ts'
import { consistsOf, TEXT, TOKEN } from '../../http1-syntax.ts'
import { fieldKind } from '../hop-by-hop.ts'
import { checkField } from '../http1-request.ts'

/** The fields of a request in the form of HTTP/2. Throws GatewayError if one cannot be sent. */
export function requestFields(request: UpstreamRequest, scheme: 'http' | 'https'): string[] {
  const { method, path, authority, headers, body } = request
  const fields = [':method', method, ':scheme', scheme, ':authority', authority, ':path', path]
  addFields(fields, headers.raw, body instanceof Readable)
  if (Buffer.isBuffer(body)) fields.push('content-length', String(body.length))
  return fields
}

/** Trailers in the form of HTTP/2. Throws GatewayError if one cannot be sent. */
export function requestTrailers(raw: readonly string[]): string[] {
  const fields: string[] = []
  addFields(fields, raw, false)
  return fields
}

/** Appends the fields of `raw` that HTTP/2 transmits. `withLength`: `content-length` is one of them. */
function addFields(fields: string[], raw: readonly string[], withLength: boolean): void {
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    const value = raw[i + 1] as string
    const kind = fieldKind(name)
    if (kind !== 'keep' && !(kind === 'content-length' && withLength)) continue
    if (name === 'te' && value !== 'trailers') continue
    checkField(name, value)
    fields.push(name, padded(value) ? value.replace(/^[ \t]+|[ \t]+$/g, '') : value)
  }
}

interface ResponseHead {
  readonly status: number
  readonly fields: string[]
  /** The content-length; -1 if absent. */
  readonly length: number
  /** There is no body, whatever the content-length. */
  readonly bare: boolean
}

/** Undefined for a malformed head (RFC 9113 section 8.3.2). */
export function responseHead(raw: readonly string[], method: string): ResponseHead | undefined {
  const text = raw[1]
  if (raw[0] !== ':status' || text?.length !== 3 || !/^[1-9]\d\d$/.test(text)) return undefined
  const status = Number(text)
  const fields = plainFields(raw, 2)
  if (fields === undefined) return undefined
  let length = -1
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i] !== 'content-length') continue
    const announced = fields[i + 1] as string
    if (length >= 0 || !/^\d{1,15}$/.test(announced)) return undefined
    length = Number(announced)
  }
  return { status, fields, length, bare: method === 'HEAD' || status === 204 || status === 304 }
}

/** Undefined for malformed trailers. */
export function trailersOf(raw: readonly string[]): string[] | undefined {
  return plainFields(raw, 0)
}

/** The fields from `from` on; undefined if one is malformed (section 8.2). */
function plainFields(raw: readonly string[], from: number): string[] | undefined {
  for (let i = from; i < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    if (!consistsOf(name, TOKEN) || name !== name.toLowerCase()) return undefined
    if (value !== '' && (!consistsOf(value, TEXT) || padded(value))) return undefined
    switch (fieldKind(name)) {
      case 'hop':
      case 'connection':
      case 'transfer-encoding':
        return undefined
    }
  }
  return from === 0 ? (raw as string[]) : raw.slice(from)
}

/** HTTP/2 forbids whitespace around values (section 8.2.1). */
function padded(value: string): boolean {
  return value.charCodeAt(0) <= 32 || value.charCodeAt(value.length - 1) <= 32
}

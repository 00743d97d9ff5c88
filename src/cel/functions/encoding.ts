import { createHash } from 'node:crypto'
import { formFields } from '../../http/form-fields.ts'
import type { Toolbox } from '../define.ts'
import { CelFailure } from '../failure.ts'
import { parseJson } from '../json-view.ts'
import { isList, isMap, isNumber, itemsOf } from '../values.ts'
import { decodeUtf8, toBytes } from './conversions.ts'

/** base64, URL and form encoding, digests, unverified JWT payloads, and query parameters of a URI. */
export function defineEncoding({ define, namespace, run }: Toolbox): void {
  namespace('base64', { encode: ['dyn', 'string', encodeBase64], decode: ['dyn', 'bytes', decodeBase64] })
  define('base64Encode(dyn): string', encodeBase64)
  define('base64Decode(dyn): bytes', decodeBase64)
  define('dyn.base64Encode(): string', encodeBase64)
  define('dyn.base64Decode(): bytes', decodeBase64)
  namespace('url', { encode: ['dyn', 'string', encodeUrl], decode: ['dyn', 'string', decodeUrl] })
  namespace('form', { encode: ['dyn', 'string', encodeForm], decode: ['dyn', 'dyn', decodeForm] })
  for (const name of ['sha1', 'sha256', 'md5']) {
    const digest = (value: unknown) => {
      const bytes = toBytes(value)
      run.charge(bytes.length >> 8)
      return createHash(name).update(bytes).digest('hex')
    }
    namespace(name, { encode: ['dyn', 'string', digest] })
  }
  define('unvalidatedJwtPayload(dyn): dyn', jwtPayload)

  define('string.query(string): list<string>', (uri: string, name: string) => {
    const found = queryOf(uri).getAll(name)
    if (found.length === 0) throw new CelFailure('no_such_key')
    return found
  })
  define('string.addQuery(string, string): string', (uri: string, name: string, value: string) => {
    const query = queryOf(uri)
    query.append(name, value)
    return withQuery(uri, query)
  })
  define('string.setQuery(string, string): string', (uri: string, name: string, value: string) => {
    const query = queryOf(uri)
    query.delete(name)
    query.append(name, value)
    return withQuery(uri, query)
  })
}

function encodeBase64(value: unknown): string {
  return Buffer.from(toBytes(value)).toString('base64')
}

/** Padding is optional; the URL alphabet is rejected. */
function decodeBase64(value: unknown): Uint8Array {
  const text = textOf(value)
  const body = text.replace(/={1,2}$/, '')
  if (!/^[A-Za-z0-9+/]*$/.test(body) || body.length % 4 === 1) throw new CelFailure('invalid_base64')
  return Buffer.from(body, 'base64')
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : decodeUtf8(toBytes(value))
}

/** Escapes everything but letters, digits and `-._~`. */
function encodeUrl(value: unknown): string {
  return encodeURIComponent(textOf(value)).replace(/[!'()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Keeps `+`, and a `%` that starts no escape. */
function decodeUrl(value: unknown): string {
  try {
    return decodeURIComponent(textOf(value).replace(/%(?![0-9A-Fa-f]{2})/g, '%25'))
  } catch {
    throw new CelFailure('invalid_utf8')
  }
}

function encodeForm(value: unknown): string {
  if (!isMap(value)) throw new CelFailure('no_matching_overload')
  const form = new URLSearchParams()
  for (const [key, item] of value.entries()) {
    for (const one of isList(item) ? itemsOf(item) : [item]) form.append(scalar(key), scalar(one))
  }
  return form.toString()
}

function scalar(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || isNumber(value)) return String(value)
  throw new CelFailure('invalid_argument')
}

/** A repeated field becomes a list. */
function decodeForm(value: unknown): Map<string, unknown> {
  const out = new Map<string, string | string[]>()
  for (const [key, item] of formFields(`&${textOf(value)}`)) {
    const before = out.get(key)
    if (before === undefined) out.set(key, item)
    else if (typeof before === 'string') out.set(key, [before, item])
    else before.push(item)
  }
  return out
}

function jwtPayload(value: unknown): unknown {
  const parts = textOf(value).split('.')
  const payload = parts[1]
  if (parts.length !== 3 || payload === undefined || !/^[A-Za-z0-9_-]+$/.test(payload)) {
    throw new CelFailure('invalid_token')
  }
  try {
    const claims = parseJson(decodeUtf8(Buffer.from(payload, 'base64url')))
    if (isMap(claims)) return claims
  } catch {
    // Falls through: which step failed is of no use to the author.
  }
  throw new CelFailure('invalid_token')
}

function queryOf(uri: string): URLSearchParams {
  const at = uri.indexOf('?')
  // The leading `&` keeps a second `?` in the first name.
  return formFields(at < 0 ? '' : `&${uri.slice(at + 1).split('#')[0]}`)
}

function withQuery(uri: string, query: URLSearchParams): string {
  const at = uri.indexOf('?')
  return `${at < 0 ? uri : uri.slice(0, at)}?${query}`
}

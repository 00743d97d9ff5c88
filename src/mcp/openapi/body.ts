import { isObject, type JsonObject } from '../message.ts'
import { ArgumentProblem } from './argument-problem.ts'
import type { RequestBody } from './operation.ts'

export interface EncodedBody {
  readonly type: string
  readonly bytes: Buffer
}

/** Encodes `value` as a body, undefined for none. Throws ArgumentProblem. `boundary`: for multipart bodies. */
export function encodeBody(body: RequestBody, value: unknown, boundary: () => string): EncodedBody | undefined {
  const { type, form, required, files } = body
  if (value === undefined) {
    if (required) throw new ArgumentProblem('`body` is required')
    return undefined
  }
  if (form === 'json') return { type, bytes: Buffer.from(JSON.stringify(value)) }
  if (form === 'text' || form === 'binary') {
    if (typeof value !== 'string') throw new ArgumentProblem('`body` must be a string')
    return { type, bytes: form === 'text' ? Buffer.from(value) : fromBase64(value, 'body') }
  }
  if (!isObject(value)) throw new ArgumentProblem('`body` must be an object')
  if (form === 'multipart') return multipart(value, files, boundary())
  const pairs = Object.entries(value).flatMap(([name, each]) => textsOf(each).map(text => [name, text]))
  return { type, bytes: Buffer.from(new URLSearchParams(pairs).toString()) }
}

/** RFC 7578; `files`: the members with base64-encoded bytes. */
function multipart(value: JsonObject, files: readonly string[], boundary: string): EncodedBody {
  const parts: Buffer[] = []
  for (const [name, each] of Object.entries(value)) {
    const file = files.includes(name)
    const quoted = name.replace(/[\r\n"]/g, encodeURIComponent)
    const more = file ? `; filename="${quoted}"\r\ncontent-type: application/octet-stream` : ''
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${quoted}"${more}\r\n\r\n`
    for (const text of textsOf(each)) {
      parts.push(Buffer.from(head), file ? fromBase64(text, `body.${name}`) : Buffer.from(text), Buffer.from('\r\n'))
    }
  }
  parts.push(Buffer.from(`--${boundary}--\r\n`))
  return { type: `multipart/form-data; boundary=${boundary}`, bytes: Buffer.concat(parts) }
}

/** The texts of a field: one per list item; objects become JSON. */
function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsOf)
  if (value === null || value === undefined) return []
  return [typeof value === 'object' ? JSON.stringify(value) : String(value)]
}

function fromBase64(text: string, what: string): Buffer {
  if (!/^[\w+/-]*={0,2}$/.test(text)) throw new ArgumentProblem(`\`${what}\` is not base64`)
  return Buffer.from(text, 'base64')
}

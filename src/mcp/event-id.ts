import { isObject, type RequestId } from './message.ts'

/** A client's position in a stream, for a gateway without other knowledge of the stream. */
export interface StreamPosition {
  /** The call that the stream answers. Undefined for unsolicited messages. */
  readonly request: RequestId | undefined
  /** The last event of each target's own stream. */
  readonly targets: ReadonlyMap<string, string>
}

/** Characters: event ids are sent as a header. */
const MAX = 1024
const MAC = 16
const FIELD = 'id:'
const EMPTY = Buffer.alloc(0)

/** The session that the positions are bound to. */
export interface Signing {
  readonly session: string
  readonly key: Buffer
}

const crypto = () => process.getBuiltinModule('node:crypto')

/** Undefined if it would be too long. */
export function encodePosition({ request, targets }: StreamPosition, signing: Signing): string | undefined {
  const text = JSON.stringify([request ?? null, Object.fromEntries(targets)])
  const encoded = Buffer.from(text).toString('base64url')
  if (encoded.length > MAX) return undefined
  return `${encoded}.${macOf(encoded, signing)}`
}

/** Undefined unless `encodePosition` made it for this session. */
export function decodePosition(text: string, signing: Signing): StreamPosition | undefined {
  const [encoded = '', mac = '', ...more] = text.split('.')
  if (more.length > 0 || mac !== macOf(encoded, signing)) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString())
    if (!Array.isArray(value) || !isObject(value[1])) return undefined
    const [request, targets] = value as [unknown, Readonly<Record<string, unknown>>]
    const entries = Object.entries(targets)
    if (!entries.every((entry): entry is [string, string] => isEventId(entry[1]))) return undefined
    const known = typeof request === 'string' || Number.isSafeInteger(request)
    return { request: known ? (request as RequestId) : undefined, targets: new Map(entries) }
  } catch {
    return undefined
  }
}

/**
 * Signs the event ids of a target's stream that passes through unparsed, chunk by chunk: servers look up ids among
 * those of all their clients, so a client must not use ids that it did not receive.
 */
export function sealEventIds(signing: Signing): (chunk: Buffer) => Buffer {
  let held = EMPTY
  let atStart = true
  return chunk => {
    const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    held = EMPTY
    const parts: Buffer[] = []
    let done = 0
    for (let at = bytes.indexOf(FIELD); at >= 0; at = bytes.indexOf(FIELD, at + 1)) {
      if (at === 0 ? !atStart : !isBreak(bytes[at - 1])) continue
      let end = at
      while (end < bytes.length && !isBreak(bytes[end])) end++
      if (end === bytes.length && end - at <= MAX) held = Buffer.from(bytes.subarray(at))
      else {
        const id = bytes.toString('utf8', at + FIELD.length, end).replace(/^ /, '')
        parts.push(bytes.subarray(done, at), Buffer.from(id === '' ? FIELD : `${FIELD} ${seal(id, signing)}`))
        done = end
      }
    }
    let end = bytes.length - held.length
    // The field name may be split between chunks, too.
    if (held.length === 0) {
      const tail = /(?:^|[\r\n])(id?)$/.exec(bytes.toString('latin1', Math.max(0, end - 3), end))?.[1] ?? ''
      if (tail !== '' && (end > tail.length || atStart)) {
        held = Buffer.from(tail)
        end -= tail.length
      }
    }
    if (end > 0) atStart = isBreak(bytes[end - 1])
    parts.push(bytes.subarray(done, end))
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
  }
}

/** The target's id. Undefined if it was not sealed for this session. */
export function unsealEventId(text: string, signing: Signing): string | undefined {
  const id = text.slice(0, -MAC - 1)
  return text === seal(id, signing) ? id : undefined
}

function seal(id: string, signing: Signing): string {
  return `${id}.${macOf(`of the target ${id}`, signing)}`
}

function isBreak(byte: number | undefined): boolean {
  return byte === 10 || byte === 13
}

/** It is sent as a header. */
function isEventId(id: unknown): id is string {
  return typeof id === 'string' && /^[\x20-\x7e]+$/.test(id)
}

function macOf(text: string, { session, key }: Signing): string {
  const mac = crypto().createHmac('sha256', key).update(`event ${session} ${text}`)
  return mac.digest('base64url').slice(0, MAC)
}

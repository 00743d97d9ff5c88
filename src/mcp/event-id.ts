import { isObject, type RequestId } from './message.ts'

/** Where a client's stream stands, for a gateway that knows nothing else of it. */
export interface StreamPosition {
  /** The call that the stream answers; undefined: what targets say by themselves. */
  readonly request: RequestId | undefined
  /** The last events of the targets' own streams, by target. */
  readonly targets: ReadonlyMap<string, string>
}

/** Characters: an event id becomes a header field. */
const MAX = 1024
const MAC = 16
const NO_KEY = Buffer.alloc(0)

/** Whose streams they are; without a key, its client can make one up. */
export interface Signing {
  readonly session: string
  readonly key: Buffer | undefined
}

const crypto = () => process.getBuiltinModule('node:crypto')

/** Undefined when it would get too long. */
export function encodePosition({ request, targets }: StreamPosition, signing: Signing): string | undefined {
  const text = JSON.stringify([request ?? null, Object.fromEntries(targets)])
  const encoded = Buffer.from(text).toString('base64url')
  if (encoded.length > MAX) return undefined
  return `${encoded}.${macOf(encoded, signing)}`
}

/** Undefined for what `encodePosition` has not made for this session. */
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

/** It goes out as a header field. */
function isEventId(id: unknown): id is string {
  return typeof id === 'string' && /^[\x20-\x7e]+$/.test(id)
}

function macOf(text: string, { session, key = NO_KEY }: Signing): string {
  const mac = crypto().createHmac('sha256', key).update(`event ${session} ${text}`)
  return mac.digest('base64url').slice(0, MAC)
}

import { isObject } from './message.ts'
import { type ClientFacts, introducedBy } from './request-meta.ts'

interface TargetState {
  readonly name: string
  /** The target's own session. */
  readonly session: string | undefined
  /** The target has no sessions: each request describes the client. */
  readonly stateless: boolean
}

/** The content of a session id, from which another gateway can resume the targets' own sessions. */
export interface SessionState {
  readonly targets: readonly TargetState[]
  /** Makes ids unique if no target has a session of its own. */
  readonly nonce: string
  /** The backend that the session belongs to. */
  readonly backend: string
  /** Fingerprint of the authenticated principal. Undefined for an anonymous client. */
  readonly principal: string | undefined
  /** For targets without sessions; omitted if too long. */
  readonly client: ClientFacts | undefined
}

/** Loaded with the first session: checking a configuration does not need it. */
const crypto = () => process.getBuiltinModule('node:crypto')

const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Characters: the id is sent as a header. */
const MAX_CLIENT = 1024

/** AES-256-GCM with a key of 32 bytes: neither readable nor forgeable. */
export function encodeSessionId(state: SessionState, key: Buffer): string {
  const plain = JSON.stringify({
    t: 'mcp',
    s: state.targets.map(({ name, session, stateless }) => ({ t: name, s: session, m: stateless || undefined })),
    r: state.nonce,
    k: state.backend,
    p: state.principal,
    c: JSON.stringify(state.client ?? '').length <= MAX_CLIENT ? state.client : undefined,
  })
  const nonce = crypto().randomBytes(NONCE_BYTES)
  const cipher = crypto().createCipheriv('aes-256-gcm', key, nonce)
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64')
}

/**
 * Undefined unless `encodeSessionId` made `id` with this key. Alternative encodings of the same bytes are rejected too:
 * otherwise an ended session could come back under one of them.
 */
export function decodeSessionId(id: string, key: Buffer): SessionState | undefined {
  try {
    return readState(JSON.parse(decrypt(id, key)))
  } catch {
    // Whatever fails, the id is not valid.
    return undefined
  }
}

/** A substitute for `text` where it must not be readable. */
export function fingerprint(text: string): string {
  return crypto().createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

function decrypt(id: string, key: Buffer): string {
  const bytes = Buffer.from(id, 'base64')
  if (bytes.toString('base64') !== id) return ''
  const tagAt = bytes.length - TAG_BYTES
  const decipher = crypto().createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAuthTag(bytes.subarray(tagAt))
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, tagAt)), decipher.final()]).toString()
}

function readState(value: unknown): SessionState | undefined {
  if (!isObject(value) || value.t !== 'mcp' || !Array.isArray(value.s)) return undefined
  const { k: backend, p: principal, r: nonce, c: client } = value
  if (typeof backend !== 'string' || typeof nonce !== 'string') return undefined
  if (principal !== undefined && typeof principal !== 'string') return undefined
  const targets: TargetState[] = []
  for (const each of value.s as unknown[]) {
    if (!isObject(each) || typeof each.t !== 'string') return undefined
    const session = typeof each.s === 'string' ? each.s : undefined
    targets.push({ name: each.t, session, stateless: each.m === true })
  }
  return { targets, nonce, backend, principal, client: isObject(client) ? introducedBy(client) : undefined }
}

import { randomBytes } from 'node:crypto'
import { readAuthority } from '../../http/authority.ts'
import type { RequestHead } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import { isRequestTarget } from '../../http/request-target.ts'
import { wantedProtocol } from './upgrade-protocols.ts'

export interface Http2Head {
  readonly head: RequestHead
  /** From `content-length`. */
  readonly length: number | undefined
  /** The client expects `100 Continue`. */
  readonly waits: boolean
  /** The protocol of an extended CONNECT (RFC 8441), which is then treated as the upgrade of a GET. */
  readonly upgrade: string | undefined
  /** Why the request is malformed, or that it asks for a protocol that is not permitted. */
  readonly problem: string | undefined
}

/** The problem of a well-formed request for a protocol that is not permitted. */
export const UNSERVED_PROTOCOL = 'protocol'

/**
 * Builds the head of a request from its fields, pseudo-fields included. The platform has validated their syntax, but
 * not their consistency.
 */
export function readHttp2Head(raw: readonly string[], secure: boolean): Http2Head {
  const fields: string[] = []
  const head: RequestHead = {
    method: 'GET',
    scheme: secure ? 'https' : 'http',
    authority: '',
    path: '',
    headers: new HeaderList(fields, true),
  }
  let host: string | undefined
  let upgrade: string | undefined
  let cookieAt = -1
  let length: number | undefined
  let waits = false
  let problem: string | undefined
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!
    const value = raw[i + 1]!
    switch (name) {
      case ':method':
        head.method = value
        continue
      case ':path':
        head.path = value
        continue
      case ':authority':
        head.authority = value
        continue
      case ':scheme':
        continue
      case ':protocol':
        upgrade = value
        continue
      case 'host':
        if (host !== undefined) problem = 'two hosts'
        host = value
        continue
      case 'cookie':
        // Clients may split it for compression; HTTP/1 requires a single field (RFC 9113 section 8.2.3).
        if (cookieAt >= 0) {
          fields[cookieAt] = `${fields[cookieAt]}; ${value}`
          continue
        }
        cookieAt = fields.length + 1
        break
      case 'content-length':
        length = Number(value)
        break
      case 'expect':
        waits = value.toLowerCase() === '100-continue'
        break
    }
    fields.push(name, value)
  }
  const served = upgrade === undefined ? undefined : becomeUpgrade(head, upgrade)
  if (upgrade !== undefined && served === undefined) problem ??= UNSERVED_PROTOCOL
  problem ??= disagreement(head, host)
  return { head, length, waits, upgrade: served, problem }
}

/** Completes the head from its `host` field; returns why the two conflict or are ambiguous. */
function disagreement(head: RequestHead, host: string | undefined): string | undefined {
  const written = head.authority === '' ? (host ?? '') : head.authority
  const authority = written === '' ? '' : readAuthority(written)
  head.authority = authority ?? written
  if (authority === undefined) return 'host'
  if (host !== undefined && host !== written && readAuthority(host) !== authority) return 'two hosts'
  if (head.method === 'CONNECT') head.path = authority
  else if (head.path.charCodeAt(0) !== SLASH && !(head.path === '*' && head.method === 'OPTIONS')) return 'path'
  return isRequestTarget(head.path) || head.path === '' ? undefined : 'path'
}

const SLASH = 47

/** The protocol, if switching to it is permitted. Adds the key that HTTP/1 requires and HTTP/2 lacks. */
function becomeUpgrade(head: RequestHead, wanted: string): string | undefined {
  // A single protocol, not a list: RFC 8441 section 4.
  const protocol = wanted.includes(',') ? undefined : wantedProtocol(wanted)
  if (protocol === undefined) return undefined
  head.method = 'GET'
  if (protocol === 'websocket' && !head.headers.has('sec-websocket-key'))
    head.headers.append('sec-websocket-key', randomBytes(16).toString('base64'))
  return protocol
}

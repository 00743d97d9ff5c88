import { readAuthority } from '../../http/authority.ts'
import type { RequestHead } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import { isRequestTarget } from '../../http/request-target.ts'
import { CLASSES, TEXT, TOKEN } from '../http1-syntax.ts'
import { dropListed, fieldKind, listsOption } from '../upstream/hop-by-hop.ts'
import { wantedProtocol } from './upgrade-protocols.ts'

export interface Http1Head {
  readonly head: RequestHead
  readonly minor: 0 | 1
  /** From `content-length`; 0 without a body, undefined if chunked. */
  readonly length: number | undefined
  /** The client will not reuse this connection. */
  readonly closes: boolean
  /** The protocol that the client asks to switch to, if permitted. */
  readonly upgrade: string | undefined
  /** The client expects `100 Continue`. */
  readonly waits: boolean
  /** Why two parsers could read the request differently. */
  readonly problem: string | undefined
}

/** Bytes that are not an HTTP/1.1 request: neither they nor anything after them can be served. */
export class MalformedRequest extends Error {
  readonly status: 400 | 408 | 417 | 431

  constructor(message: string, status: 400 | 408 | 417 | 431 = 400) {
    super(message)
    this.status = status
  }
}

const CR = 13
const LF = 10

/**
 * Parses the head in `bytes` between `from` and `to`, including its empty line. Strict (RFC 9112 without its
 * tolerances: no folded lines, no bare LF, one length, no coding but `chunked`). Throws MalformedRequest.
 */
export function readHttp1Head(
  bytes: Buffer,
  from: number,
  to: number,
  secure: boolean,
  preserveCase: boolean,
): Http1Head {
  const text = bytes.toString('latin1', from, to)
  const line = text.indexOf('\r\n')
  const [method, target, minor] = requestLine(text, line)
  const facts = new FieldFacts()
  const raw = readFields(bytes, text, from, from + line + 2, to - 2, preserveCase, facts)
  if (minor === 1 && facts.host === undefined) throw new MalformedRequest('no host')
  const { chunked } = facts
  if (chunked && (facts.length >= 0 || minor === 0)) throw new MalformedRequest('two framings')
  const options = facts.connection
  // Before any policy runs: a field set later under such a name is the gateway's own.
  if (options !== undefined) dropListed(raw, options)
  const head: RequestHead = {
    method,
    scheme: secure ? 'https' : 'http',
    authority: '',
    path: target,
    headers: new HeaderList(raw),
  }
  const problem = placeTarget(head, facts, raw)
  const switches =
    facts.upgrade !== undefined &&
    method === 'GET' &&
    minor === 1 &&
    options !== undefined &&
    listsOption(options, 'upgrade') &&
    // A server may ignore an upgrade (RFC 9110 section 7.8), and a body could not be told from the new protocol's data.
    !chunked &&
    facts.length <= 0
  return {
    head,
    minor,
    length: chunked ? undefined : Math.max(0, facts.length),
    closes:
      options === undefined
        ? minor === 0
        : listsOption(options, 'close') || (minor === 0 && !listsOption(options, 'keep-alive')),
    upgrade: switches ? wantedProtocol(facts.upgrade as string) : undefined,
    waits: minor === 1 && facts.expect !== undefined,
    problem,
  }
}

const SLASH = 47

/**
 * Splits the target into authority and path and replaces the `host` field with that authority, so that everyone sees
 * the same host. Returns why two parsers could read them differently.
 */
function placeTarget(head: RequestHead, facts: FieldFacts, raw: string[]): 'host' | 'target' | undefined {
  const target = head.path
  const written = facts.host ?? ''
  const host = written === '' ? '' : readAuthority(written)
  let authority = host
  let fits = true
  if (head.method === 'CONNECT') {
    // RFC 9112 section 3.2.3: the target is an authority, whatever `host` says. It need not be a DNS name.
    authority = readAuthority(target)
  } else if (target.charCodeAt(0) !== SLASH && (target !== '*' || head.method !== 'OPTIONS')) {
    const absolute = /^https?:\/\/([^/?]*)(.*)$/i.exec(target)
    fits = absolute !== null
    if (absolute) {
      authority = readAuthority(absolute[1] as string)
      const rest = absolute[2] as string
      head.path = rest.startsWith('/') ? rest : `/${rest}`
    }
  }
  head.authority = authority ?? written
  if (host === undefined || authority === undefined || facts.hosts > 1) return 'host'
  if (!fits) return 'target'
  if (facts.hosts === 1 && authority !== written)
    raw[raw.findIndex((name, i) => i % 2 === 0 && fieldKind(name) === 'host') + 1] = authority
  return undefined
}

/** What the fields say about the message's framing. */
class FieldFacts {
  host: string | undefined
  hosts = 0
  length = -1
  chunked = false
  connection: string | undefined
  upgrade: string | undefined
  expect: string | undefined
}

function requestLine(text: string, end: number): [method: string, target: string, minor: 0 | 1] {
  const first = text.indexOf(' ')
  const last = end - 9
  const method = text.slice(0, Math.max(0, first))
  if (first < 0 || last <= first || !METHOD.test(method)) throw new MalformedRequest('method')
  const version = text.slice(last, end)
  const minor = version === ' HTTP/1.1' ? 1 : version === ' HTTP/1.0' ? 0 : undefined
  if (minor === undefined) throw new MalformedRequest('version')
  const target = text.slice(first + 1, last)
  if (!isRequestTarget(target)) throw new MalformedRequest('target')
  return [method, target, minor]
}

/** RFC 9110 section 9.1: any token. Other first characters are more likely the rest of a body. */
const METHOD = /^[A-Z][!#$%&'*+\-.^_`|~0-9A-Za-z]*$/

/** Parses the field lines from `at` to `to`; `text` is `bytes` from `origin` on. */
function readFields(
  bytes: Buffer,
  text: string,
  origin: number,
  begin: number,
  to: number,
  preserveCase: boolean,
  facts: FieldFacts,
): string[] {
  const fields: string[] = []
  let at = begin
  while (at < to) {
    const start = at
    let capitals = false
    let byte = bytes[at] as number
    while ((CLASSES[byte] as number) & TOKEN) {
      if (byte >= 65 && byte <= 90) capitals = true
      byte = bytes[++at] as number
    }
    if (at === start || byte !== 58) throw new MalformedRequest('field name')
    let name = text.slice(start - origin, at - origin)
    if (capitals && !preserveCase) name = name.toLowerCase()
    at++
    while (bytes[at] === 32 || bytes[at] === 9) at++
    const first = at
    while ((CLASSES[bytes[at] as number] as number) & TEXT) at++
    let last = at
    while (last > first && (bytes[last - 1] === 32 || bytes[last - 1] === 9)) last--
    if (bytes[at] !== CR || bytes[at + 1] !== LF) throw new MalformedRequest('field value')
    at += 2
    const value = text.slice(first - origin, last - origin)
    fields.push(name, value)
    note(name, value, facts)
  }
  return fields
}

function note(name: string, value: string, facts: FieldFacts): void {
  switch (fieldKind(name)) {
    case 'keep':
      return
    case 'host':
      facts.hosts++
      facts.host = value
      return
    case 'content-length':
      if (facts.length >= 0 || !/^\d{1,15}$/.test(value)) throw new MalformedRequest('content-length')
      facts.length = Number(value)
      return
    case 'transfer-encoding':
      if (facts.chunked || value.toLowerCase() !== 'chunked') throw new MalformedRequest('transfer-encoding')
      facts.chunked = true
      return
    case 'connection':
      facts.connection = facts.connection === undefined ? value : `${facts.connection},${value}`
      return
    case 'expect':
      facts.expect = value.toLowerCase()
      if (facts.expect !== '100-continue') throw new MalformedRequest('expectation', 417)
      return
    case 'hop':
      if (name.length === 7) facts.upgrade = facts.upgrade === undefined ? value : `${facts.upgrade},${value}`
  }
}

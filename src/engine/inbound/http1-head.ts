import type { IncomingMessage } from 'node:http'
import type { RequestHead } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'

export interface Http1Head {
  readonly head: RequestHead
  /** From `content-length`; 0 without a body, undefined when it comes in chunks. */
  readonly length: number | undefined
  /** Why two readers could take the request for two different ones. */
  readonly problem: string | undefined
}

/** The head of a request as Node has parsed it, in one pass over its fields. */
export function readHttp1Head(req: IncomingMessage, secure: boolean, preserveCase: boolean): Http1Head {
  const raw = req.rawHeaders
  let host = ''
  let hosts = 0
  let length: number | undefined
  let chunked = false
  for (let i = 0; i < raw.length; i += 2) {
    const written = raw[i]!
    const name = written.toLowerCase()
    if (!preserveCase) raw[i] = name
    if (name === 'host') {
      hosts++
      host = raw[i + 1]!
    } else if (name === 'content-length') length = Number(raw[i + 1])
    else if (name === 'transfer-encoding') chunked = true
  }
  const target = req.url ?? '/'
  const method = req.method ?? 'GET'
  const scheme = secure ? 'https' : 'http'
  const head: RequestHead = { method, scheme, authority: host, path: target, headers: new HeaderList(raw) }
  const absolute = target.startsWith('/') || target === '*' ? null : /^(https?):\/\/([^/?#]*)(.*)$/i.exec(target)
  if (absolute) {
    head.authority = absolute[2]!
    head.path = absolute[3]!.startsWith('/') ? absolute[3]! : `/${absolute[3]}`
  }
  const asterisk = target === '*' && method === 'OPTIONS'
  const problem =
    hosts > 1 || UNSAFE_HOST.test(host) || UNSAFE_HOST.test(head.authority)
      ? 'host'
      : !absolute && !target.startsWith('/') && !asterisk && method !== 'CONNECT'
        ? 'target'
        : req.httpVersion !== '1.1' && (req.httpVersion !== '1.0' || chunked)
          ? 'version'
          : undefined
  return { head, length: chunked ? undefined : (length ?? 0), problem }
}

/** Characters that no authority has, and by which it could be read as a path or with a user name. */
const UNSAFE_HOST = /[\s/@?#\\]/

import { type ClientRequest, type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { Failure } from '../../diagnostics/failure.ts'
import { ipVersion } from '../../http/ip-version.ts'
import { connectionReason } from '../admin/connection-reason.ts'
import { type CurlRequest, parseCurl } from '../curl/curl-request.ts'

export interface PreparedRequest {
  /** Identifies the request in the gateway. */
  readonly expression: string
  /** Resolves when it has been answered, or cannot be. */
  readonly answered: Promise<void>
  send(): void
}

/** Parses the words after `--`. Throws a Failure: `usage`, or `input` for a file that cannot be read. */
export function parseInjected(words: readonly string[], cwd: string): CurlRequest {
  return parseCurl(words, { cwd, example: "gwctl trace -- POST http://localhost:8080/v1 -H 'x-team: a' -d '{}'" })
}

/**
 * Connects without sending: the gateway is first told to watch the requests of this connection. Throws a Failure:
 * `usage`, `input`, or `unreachable` if nothing listens.
 */
export async function prepareRequest(
  words: readonly string[],
  cwd: string,
  note: (text: string) => void,
): Promise<PreparedRequest> {
  const wanted = parseInjected(words, cwd)
  const secure = wanted.url.protocol === 'https:'
  const sent = startRequest(wanted)
  let watching = false
  const answered = new Promise<void>(resolve => sent.on('close', resolve))
  const port = await new Promise<number>((done, fail) => {
    sent.on('error', error => {
      if (watching) note(`the request ended: ${error.message}`)
      else fail(unreachable(wanted, error))
    })
    sent.on('response', response => response.resume())
    sent.on('socket', socket => socket.once(secure ? 'secureConnect' : 'connect', () => done(socket.localPort ?? 0)))
  })
  watching = true
  return { expression: `source.port == ${port}`, answered, send: () => void sent.end(wanted.body) }
}

/** Sends a request and reads its response; resolves with the status. Throws a Failure `unreachable`. */
export function sendRequest(wanted: CurlRequest): Promise<number> {
  return new Promise((done, fail) => {
    const sent = startRequest(wanted)
    sent.on('error', error => fail(unreachable(wanted, error)))
    sent.on('response', response => {
      response.resume()
      response.on('error', () => {})
      done(response.statusCode ?? 0)
    })
    sent.end(wanted.body)
  })
}

function unreachable({ url }: CurlRequest, error: Error): Failure {
  return new Failure('unreachable', `${url.host} cannot be reached: ${connectionReason(error)}.`, {
    help: 'It is where the request was to go. To look into a gateway, name it with --admin URL or --kube NAME.',
    cause: error,
  })
}

/** Starts a request at the address to connect to; the caller ends it. `path`: as sent. */
export function startRequest(wanted: CurlRequest, path = `${wanted.url.pathname}${wanted.url.search}`): ClientRequest {
  const { url, method, headers, body, connectTo, insecure } = wanted
  const secure = url.protocol === 'https:'
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const options: RequestOptions & { rejectUnauthorized?: boolean; servername?: string } = {
    method,
    host: connectTo?.host ?? hostname,
    port: connectTo?.port ?? (Number(url.port) || (secure ? 443 : 80)),
    path,
    headers: headersOf(url, headers, body),
    agent: false,
    // Not sent for addresses (RFC 6066 section 3).
    ...(secure ? { rejectUnauthorized: !insecure, servername: ipVersion(hostname) === 0 ? hostname : '' } : {}),
  }
  return (secure ? requestHttps : requestHttp)(options)
}

function headersOf(url: URL, headers: CurlRequest['headers'], body: CurlRequest['body']) {
  const out: Record<string, string[]> = {}
  for (const [name, value] of headers) out[name.toLowerCase()] = [...(out[name.toLowerCase()] ?? []), value]
  const { host: [host = url.host] = [] } = out
  if (body !== undefined) out['content-length'] = [String(body.length)]
  // Node accepts a single host, not a list.
  return { ...out, host }
}

import { readFileSync } from 'node:fs'
import { type ClientRequest, type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { resolve } from 'node:path'
import { Failure } from '../../diagnostics/failure.ts'

export interface PreparedRequest {
  /** Which of the gateway's requests it is. */
  readonly expression: string
  send(): void
}

/** What to send, as the words after `--` say. */
export interface WantedRequest {
  readonly method: string
  readonly url: URL
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | Buffer | undefined
  readonly insecure: boolean
  /** Where to connect instead of where the URL says. */
  readonly connectTo: { readonly host: string; readonly port: number } | undefined
}

/**
 * Connects and waits: the gateway is then told to watch the requests of this connection before one is sent on it.
 * Throws a Failure: `usage`, `input`, or `unreachable` when nobody listens.
 */
export async function prepareRequest(
  words: readonly string[],
  cwd: string,
  note: (text: string) => void,
): Promise<PreparedRequest> {
  const wanted = parseRequest(words, cwd)
  const secure = wanted.url.protocol === 'https:'
  const sent = startRequest(wanted)
  let watching = false
  const port = await new Promise<number>((done, fail) => {
    sent.on('error', error => {
      if (watching) note(`the request ended: ${error.message}`)
      else fail(new Failure('unreachable', `${wanted.url.host} cannot be reached: ${error.message}.`, { cause: error }))
    })
    sent.on('response', response => response.resume())
    sent.on('socket', socket => socket.once(secure ? 'secureConnect' : 'connect', () => done(socket.localPort ?? 0)))
  })
  watching = true
  return { expression: `source.port == ${port}`, send: () => void sent.end(wanted.body) }
}

/** Sends a request and takes its response; resolves with the status. Throws a Failure `unreachable`. */
export function sendRequest(wanted: WantedRequest): Promise<number> {
  return new Promise((done, fail) => {
    const sent = startRequest(wanted)
    sent.on('error', error =>
      fail(new Failure('unreachable', `${wanted.url.host} cannot be reached: ${error.message}.`, { cause: error })),
    )
    sent.on('response', response => {
      response.resume()
      response.on('error', () => {})
      done(response.statusCode ?? 0)
    })
    sent.end(wanted.body)
  })
}

function startRequest({ url, method, headers, body, connectTo, insecure }: WantedRequest): ClientRequest {
  const secure = url.protocol === 'https:'
  const options: RequestOptions & { rejectUnauthorized?: boolean; servername?: string } = {
    method,
    host: connectTo?.host ?? url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: connectTo?.port ?? (Number(url.port) || (secure ? 443 : 80)),
    path: `${url.pathname}${url.search}`,
    headers: headersOf(url, headers, body),
    agent: false,
    ...(secure ? { rejectUnauthorized: !insecure, servername: url.hostname } : {}),
  }
  return (secure ? requestHttps : requestHttp)(options)
}

/** Throws a Failure `usage`. */
export function parseRequest(words: readonly string[], cwd: string): WantedRequest {
  const [method = '', address = '', ...rest] = words
  if (!/^[A-Za-z]+$/.test(method) || address === '') throw wrong('After -- comes a method and a URL.')
  const url = URL.parse(/^\w+:\/\//.test(address) ? address : `http://${address}`)
  if (url === null || !/^https?:$/.test(url.protocol)) throw wrong(`${address} is no URL of HTTP.`)
  const headers: [string, string][] = []
  let body: string | Buffer | undefined
  let insecure = false
  let connectTo: WantedRequest['connectTo']
  const add = (more: string | Buffer) => {
    body = body === undefined ? more : Buffer.concat([Buffer.from(body), Buffer.from('&'), Buffer.from(more)])
  }
  for (let i = 0; i < rest.length; i++) {
    const option = rest[i] as string
    const value = () => {
      i++
      const next = rest[i]
      if (next === undefined) throw wrong(`${option} needs a value.`)
      return next
    }
    if (option === '-H' || option === '--header') headers.push(headerOf(value()))
    else if (option === '-d' || option === '--data' || option === '--data-binary') add(dataOf(value(), cwd))
    else if (option === '--data-raw') add(value())
    else if (option === '--json') {
      add(dataOf(value(), cwd))
      headers.push(['content-type', 'application/json'], ['accept', 'application/json'])
    } else if (option === '-u' || option === '--user')
      headers.push(['authorization', `Basic ${Buffer.from(value()).toString('base64')}`])
    else if (option === '-k' || option === '--insecure') insecure = true
    else if (option === '--connect-to') connectTo = connectToOf(value(), url)
    else throw wrong(`${option} is no option that gwctl knows.`)
  }
  return { method: method.toUpperCase(), url, headers, body, insecure, connectTo }
}

function headersOf(url: URL, headers: WantedRequest['headers'], body: WantedRequest['body']) {
  const out: Record<string, string[]> = {}
  for (const [name, value] of headers) out[name.toLowerCase()] = [...(out[name.toLowerCase()] ?? []), value]
  const { host: [host = url.host] = [] } = out
  if (body !== undefined) {
    out['content-type'] ??= ['application/x-www-form-urlencoded']
    out['content-length'] = [String(Buffer.byteLength(body))]
  }
  // Node takes one host and no list of them.
  return { ...out, host }
}

function headerOf(text: string): [string, string] {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw wrong(`${text} is no header: write NAME: VALUE.`)
  return [name, value]
}

function dataOf(text: string, cwd: string): string | Buffer {
  if (!text.startsWith('@')) return text
  try {
    return readFileSync(resolve(cwd, text.slice(1)))
  } catch (error) {
    throw new Failure('input', `cannot read ${text.slice(1)}.`, { cause: error })
  }
}

/** `HOST1:PORT1:HOST2:PORT2`, as curl takes it; an empty part stands for any, or for the URL's own. */
function connectToOf(text: string, url: URL): WantedRequest['connectTo'] {
  const [, host1 = '', port1 = '', host2 = '', port2 = ''] = /^([^:]*):(\d*):(\[.*\]|[^:]*):(\d*)$/.exec(text) ?? []
  if (host2 === '' && port2 === '') throw wrong(`${text}: write HOST1:PORT1:HOST2:PORT2.`)
  const own = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  if ((host1 !== '' && host1 !== url.hostname) || (port1 !== '' && Number(port1) !== own)) return undefined
  return { host: (host2 || url.hostname).replace(/^\[(.*)\]$/, '$1'), port: Number(port2) || own }
}

function wrong(message: string): Failure {
  return new Failure('usage', message, {
    help: "For example: gwctl trace -- POST http://localhost:8080/v1 -H 'x-team: a' -d '{}'",
  })
}

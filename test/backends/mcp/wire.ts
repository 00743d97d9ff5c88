export const PROTOCOL = '2025-11-25'

export interface WireReply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Messages of the event stream, or the JSON body. */
  readonly messages: readonly { readonly [key: string]: unknown }[]
}

/** One POST as a client without an SDK makes it. */
export async function post(
  url: URL,
  body: string | Buffer | object,
  headers: Record<string, string | undefined> = {},
): Promise<WireReply> {
  const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }
  const fields = Object.entries(all).filter((field): field is [string, string] => field[1] !== undefined)
  const raw = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  return read(await fetch(url, { method: 'POST', headers: fields, body: raw as string }))
}

export async function send(url: URL, method: string, headers: Record<string, string> = {}): Promise<WireReply> {
  return read(await fetch(url, { method, headers }))
}

export function initialize(id: number | string = 1, version = PROTOCOL): object {
  const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'wire', version: '1' } }
  return { jsonrpc: '2.0', id, method: 'initialize', params }
}

/** An open session; returns its id. */
export async function begin(url: URL, headers: Record<string, string> = {}): Promise<string> {
  const reply = await post(url, initialize(), headers)
  const session = reply.headers.get('mcp-session-id')
  if (session === null) throw new Error(`no session: ${reply.status} ${reply.text}`)
  await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, { ...headers, 'mcp-session-id': session })
  return session
}

async function read(response: Response): Promise<WireReply> {
  const text = await response.text()
  const type = response.headers.get('content-type') ?? ''
  const messages = type.startsWith('text/event-stream')
    ? [...text.matchAll(/^data: ([^\n]*)\n/gm)].map(match => JSON.parse(match[1] as string))
    : type.startsWith('application/json')
      ? [JSON.parse(text)]
      : []
  return { status: response.status, headers: response.headers, text, messages }
}

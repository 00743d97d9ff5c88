import type { IncomingMessage, ServerResponse } from 'node:http'
import { startUpstream, type Upstream } from './upstream.ts'

export interface TokenRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly form: URLSearchParams
}

export interface TokenServer extends AsyncDisposable {
  readonly host: string
  readonly upstream: Upstream
  /** What it was asked, in order. */
  readonly asked: TokenRequest[]
  /** Instead of a new token for each question. */
  answer: (request: TokenRequest, res: ServerResponse) => void
}

export const URN = 'urn:ietf:params:oauth:token-type:'

/** An authorization server that gives a token of its own to each question: `t1`, `t2`. */
export async function startTokenServer(): Promise<TokenServer> {
  const asked: TokenRequest[] = []
  const upstream = await startUpstream((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', chunk => chunks.push(chunk))
    req.on('end', () => {
      const form = new URLSearchParams(Buffer.concat(chunks).toString())
      const request = { path: req.url ?? '', headers: req.headers, form }
      asked.push(request)
      server.answer(request, res)
    })
  })
  const server: TokenServer = {
    host: upstream.host,
    upstream,
    asked,
    answer: ({ form }, res) =>
      sendToken(res, { issued_token_type: form.get('requested_token_type') ?? undefined }, asked.length),
    [Symbol.asyncDispose]: upstream[Symbol.asyncDispose],
  }
  return server
}

export function sendToken(res: ServerResponse, members: object = {}, number = 1): void {
  sendJson(res, 200, { access_token: `t${number}`, token_type: 'Bearer', expires_in: 600, ...members })
}

export function sendJson(res: ServerResponse, status: number, value: object): void {
  res.writeHead(status, { 'content-type': 'application/json' })
  res.end(JSON.stringify(value))
}

// What node:http and undici can do at best, with no gateway in between: no routes, no policies, no limits. Each shortcut
// that public interfaces allow is taken: raw header arrays, bodies in one piece, kept clients in a stack, no streams.
import http from 'node:http'
import { Client, type Dispatcher } from 'undici'

const HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'expect', 'te', 'trailer'])
const origin = `http://127.0.0.1:${process.env.UPSTREAM}`
/** Unused clients, the last used one at the end. */
const free: Client[] = []

class Relay implements Dispatcher.DispatchHandler {
  readonly #response: http.ServerResponse
  readonly #client: Client
  #controller: Dispatcher.DispatchController | undefined
  #left = -1
  done = false

  constructor(response: http.ServerResponse, client: Client) {
    this.#response = response
    this.#client = client
  }

  cancel(): void {
    if (!this.done) this.#controller?.abort(new Error('the client left'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, fields: object): void {
    const raw: string[] = []
    for (const [name, value] of Object.entries(fields) as [string, string | string[]][]) {
      if (HOP.has(name)) continue
      if (name === 'content-length') this.#left = Number(value)
      for (const each of Array.isArray(value) ? value : [value]) raw.push(name, each)
    }
    this.#response.sendDate = false
    this.#response.writeHead(status, raw)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (chunk.length === this.#left) {
      this.#response.end(chunk)
      return
    }
    if (this.#response.write(chunk)) return
    controller.pause()
    this.#response.once('drain', () => controller.resume())
  }

  onResponseEnd(): void {
    this.done = true
    free.push(this.#client)
    if (!this.#response.writableEnded) this.#response.end()
  }

  onResponseError(): void {
    this.done = true
    this.#response.destroy()
  }
}

function forward(request: http.IncomingMessage, response: http.ServerResponse, body: Buffer | null): void {
  const headers: string[] = []
  const raw = request.rawHeaders
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    if (!HOP.has(name) && name !== 'content-length') headers.push(name, raw[i + 1] as string)
  }
  const client = free.pop() ?? new Client(origin, { pipelining: 1, keepAliveTimeout: 60_000 })
  const relay = new Relay(response, client)
  response.on('close', () => relay.cancel())
  client.dispatch({ path: request.url ?? '/', method: request.method as Dispatcher.HttpMethod, headers, body }, relay)
}

http
  .createServer({ noDelay: true, optimizeEmptyRequests: true }, (request, response) => {
    if (Number(request.headers['content-length'] ?? 0) === 0) {
      forward(request, response, null)
      return
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => forward(request, response, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
  })
  .listen(Number(process.env.PORT), '127.0.0.1', 4096)

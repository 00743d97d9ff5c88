import type { DryCall, DryGateway, DryOutcome, DryRequest, Stub } from '../../../src/tools/dry-run/dry-run.ts'
import { loadDryGateway } from '../../../src/tools/dry-run/dry-run.ts'
import { type Case, type CaseRequest, portsOf, substitute, type UpstreamKind, type UpstreamReply } from './cases.ts'
import { fields, type Reply } from './client.ts'
import { FILES, normaliser, note } from './play.ts'
import type { Answer } from './system.ts'
import type { Call } from './upstreams.ts'

/** Sends the requests of a case through a dry run, with stubs in the place of its upstreams. */
export async function playDry(each: Case): Promise<Readonly<Record<string, Answer>>> {
  const kinds = each.upstreams ?? { main: 'http1' }
  const addresses = Object.fromEntries(Object.keys(kinds).map((name, i) => [name, `127.0.0.1:${50_001 + i}`]))
  const names = { ...each.vars, ...addresses }
  const config = substitute(each.config, names)
  const stubs = new UpstreamStubs(kinds, addresses)
  const gateway = await open(config, stubs)
  const ports = portsOf(config)
  const plain = normaliser(addresses, new Map(ports.map(port => [`${port}`, `${port}`])))
  const replies: Record<string, Answer> = {}
  for (const request of substitute(each.requests, names)) {
    stubs.next(request.reply)
    const outcome = await gateway.run(dryRequest(request, ports[0]!))
    const calls = outcome.upstream.filter(({ status }) => status !== undefined).map(call => callOf(call, addresses))
    calls.sort((a, b) => (a.to < b.to ? -1 : a.to > b.to ? 1 : 0))
    replies[request.name] = note(replyOf(outcome), calls, plain)
  }
  return replies
}

async function open(config: Case['config'], stubs: UpstreamStubs): Promise<DryGateway> {
  const texts = [{ file: 'test.yaml', text: JSON.stringify(config) }]
  const files: Readonly<Record<string, string>> = FILES
  const readReferenced = (path: string) => (files[path] === undefined ? undefined : Buffer.from(files[path]))
  const { loaded, gateway } = await loadDryGateway(texts, { cwd: '/', env: {}, stubs, readReferenced })
  if (gateway === undefined) throw new Error(loaded.diagnostics.map(({ message }) => message).join('\n'))
  return gateway
}

/** Answers as the upstreams of a case do, by their addresses. */
class UpstreamStubs extends Map<string, Stub> {
  readonly #names: ReadonlyMap<string, string>
  readonly #kinds: Readonly<Record<string, UpstreamKind>>
  #replies: readonly UpstreamReply[] = []
  #answered = 0

  constructor(kinds: Readonly<Record<string, UpstreamKind>>, addresses: Readonly<Record<string, string>>) {
    super()
    this.#kinds = kinds
    this.#names = new Map(Object.entries(addresses).map(([name, address]) => [address, name]))
  }

  next(reply: CaseRequest['reply']): void {
    this.#answered = 0
    this.#replies = reply === undefined ? [] : 'length' in reply ? reply : [reply]
  }

  override has(address: string): boolean {
    return this.#names.has(address)
  }

  override get(address: string): Stub | undefined {
    const name = this.#names.get(address)
    if (name === undefined) return undefined
    if (this.#kinds[name] === 'closed') return { unreachable: true }
    const reply = this.#replies[Math.min(this.#answered++, this.#replies.length - 1)] ?? {}
    const headers = (reply.headers ?? ['content-type: text/plain']).map(line => {
      const at = line.indexOf(': ')
      return [line.slice(0, at), line.slice(at + 2)] as const
    })
    return {
      status: reply.status ?? 200,
      headers,
      body: reply.body ?? name,
      ...(reply.after === undefined ? {} : { delay: reply.after }),
    }
  }
}

function dryRequest(request: CaseRequest, first: number): DryRequest {
  const { method = 'GET', path = '/', body, port = first, sni } = request
  const text = typeof body === 'object' ? body.repeat.repeat(body.times) : body
  const headers = fields(request, text)
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1]
  return {
    method,
    url: sni === undefined ? path : `https://${host}${path}`,
    headers,
    body: text === undefined ? undefined : Buffer.from(text),
    port,
    sni,
  }
}

function replyOf({ status = 0, headers, body }: DryOutcome): Reply {
  return { status, headers: headers.map(([name, value]) => `${name}: ${value}`), body: body.toString('latin1') }
}

function callOf({ method, path, headers, body, names }: DryCall, addresses: Readonly<Record<string, string>>): Call {
  const [to = ''] = Object.keys(addresses).filter(name => names.includes(addresses[name]!))
  return {
    to,
    line: `${method} ${path} HTTP/1.1`,
    headers: headers.map(([name, value]) => `${name}: ${value}`),
    body: body.toString('latin1'),
  }
}

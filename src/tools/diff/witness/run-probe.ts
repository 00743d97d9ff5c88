import { initializeParams } from '../../../mcp/initialize.ts'
import { fieldOf } from '../../dry-run/dry-request.ts'
import type { DryGateway, DryOutcome, DryRequest, Stubs } from '../../dry-run/dry-run.ts'
import type { Result } from './outcome.ts'
import { type Probe, withHeaders } from './probe.ts'

/** Runs each call of a probe, with the gateway's state reset. Emits events only if `traced`. */
export async function runProbe(gateway: DryGateway, probe: Probe, traced: boolean): Promise<readonly Result[]> {
  const run = (request: DryRequest) => gateway.run(request, traced ? undefined : 'untraced')
  const refused = refusal(gateway, probe.request)
  if (refused !== undefined) return [{ refused }]
  gateway.reset(new Map())
  if (probe.upstream) {
    const { backends } = await run(probe.request)
    gateway.reset(new Map(backends.map(name => [name, probe.upstream ?? {}])))
  }
  if (probe.mcp) return [await runInSession(gateway, probe, run)]
  const results: DryOutcome[] = []
  for (let call = 0; call < probe.calls; call++) results.push(await run(probe.request))
  return results
}

/** Why a request does not reach the HTTP layer. */
function refusal({ snapshot }: DryGateway, { port, url }: DryRequest): string | undefined {
  const open = snapshot.binds.filter(({ listeners }) => listeners.length > 0)
  // A recorded request may lack the port that it came in on.
  if (port === undefined && open.length > 0) return undefined
  const bind = open.find(each => each.port === port)
  if (bind === undefined) return 'port closed'
  if (bind.protocol === 'tcp' || bind.protocol === 'udp') return 'no HTTP here'
  const secure = url.startsWith('https:')
  if (secure === (bind.protocol === 'tls')) return undefined
  return secure ? 'no TLS here' : 'TLS only'
}

/** An MCP client starts with the handshake. */
async function runInSession(
  gateway: DryGateway,
  { request, mcp = {} }: Probe,
  run: (request: DryRequest) => Promise<DryOutcome>,
): Promise<DryOutcome> {
  const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params: HELLO }
  const hello = { ...request, body: Buffer.from(JSON.stringify(body)) }
  const { headers, backends } = await run(hello)
  const stubs: Stubs = new Map(backends.map(name => [name, { mcp }]))
  gateway.reset(stubs)
  const greeted = backends.length === 0 ? { headers } : await run(hello)
  const session = fieldOf(greeted.headers, 'mcp-session-id')
  if (session === undefined) return run(request)
  return run({ ...request, headers: withHeaders(request.headers, { 'mcp-session-id': session }) })
}

const HELLO = initializeParams('gwctl diff')

import type { Loaded } from '../../config/load.ts'
import type { CheckReport } from '../../diagnostics/render/report.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import { initializeParams } from '../../mcp/initialize.ts'
import { policyNamed } from '../../policies/index.ts'
import { Placeholder } from '../../schema/placeholder.ts'
import type { Fields } from '../../schema/untyped.ts'
import { reportOf } from '../check/check.ts'
import { fieldOf } from '../dry-run/dry-request.ts'
import {
  type DryGateway,
  type DryOutcome,
  type DryRequest,
  loadDryGateway,
  loadLiveDryGateway,
  type Stub,
} from '../dry-run/dry-run.ts'
import { EVERYTHING } from '../dry-run/stubs.ts'
import type { InputPlace } from '../input/input-files.ts'
import type { LiveChoice } from '../input/live-objects-loader.ts'
import { readServed } from '../input/served-input.ts'
import { explainRequest, type Run } from './explain-request.ts'
import type { Explanation } from './explanation.ts'
import type { RouteFormat } from './render.ts'

interface RouteQuery {
  /** A file, a directory of resources, - for stdin; or the objects of a cluster. */
  readonly config: string | { readonly objects: readonly Fields[]; readonly choice: LiveChoice }
  readonly request: DryRequest
  /** ms since the epoch; now when unset. */
  readonly time: number | undefined
  readonly seed: number
  readonly stubs: ReadonlyMap<string, Stub>
}

interface RoutePlace extends InputPlace {
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Runs one request through a configuration, without a socket. Returns a report of the findings if it cannot be served.
 * Throws a Failure `input`.
 */
export async function routeRequest(
  query: RouteQuery,
  place: RoutePlace,
): Promise<{ readonly run: Run; readonly explanation: Explanation } | { readonly refused: CheckReport }> {
  const { config, request, time, seed, stubs } = query
  const world = { ...place, seed, stubs, ...(time === undefined ? {} : { time }) }
  const texts = typeof config === 'string' ? await readServed(config, place) : []
  const { loaded, gateway } =
    typeof config === 'string'
      ? await loadDryGateway(texts, world)
      : await loadLiveDryGateway(config.objects, config.choice, world)
  if (gateway === undefined) return { refused: await reportOf(texts, loaded, place.cwd) }
  const { opensSession, ...done } = await inSession(gateway, request)
  const run = { gateway, ...done, seed, stubbed: new Set(stubs.keys()), opensSession, lacking: lackingIn(loaded) }
  return { run, explanation: explainRequest(run) }
}

/** What `run` would not start without. */
function lackingIn({ source, diagnostics }: Loaded): Run['lacking'] {
  const variables = new Set<string>()
  const collect = (value: unknown): void => {
    if (value instanceof Placeholder) variables.add(value.variable)
    else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) collect(each)
  }
  for (const document of source.documents) collect(document.value)
  const files = diagnostics.flatMap(({ code, message }) => (code === 'GW206' ? [message] : []))
  return { variables: [...variables], files: [...new Set(files)] }
}

/** An MCP request that lacks a session gets one first, with the caller's own credentials. */
async function inSession(gateway: DryGateway, request: DryRequest) {
  const outcome = await gateway.run(request)
  if (!lacksSession(request, outcome)) return { request, outcome, opensSession: false }
  gateway.reset()
  const opened = await gateway.run({ ...request, body: Buffer.from(JSON.stringify(INITIALIZE)), method: 'POST' })
  const session = fieldOf(opened.headers, SESSION)
  if (session === undefined) return { request, outcome, opensSession: false }
  const within = { ...request, headers: [...request.headers, [SESSION, session] as const] }
  return { request: within, outcome: await gateway.run(within), opensSession: true }
}

const SESSION = 'mcp-session-id'
const INITIALIZE = { jsonrpc: '2.0', id: 1, method: 'initialize', params: initializeParams('gwctl route') }

function lacksSession({ headers }: DryRequest, { mcp, reason, status }: DryOutcome): boolean {
  const named = fieldOf(headers, SESSION) !== undefined
  return mcp !== undefined && mcp.method !== 'initialize' && reason === 'MCP' && status === 400 && !named
}

/** Notes to print beside the output. */
export async function routeNotes(explanation: Explanation, run: Run, format: RouteFormat): Promise<string[]> {
  const { leftOut } = await import('./test-case.ts')
  const fields = format === 'test' ? leftOut(explanation) : []
  const without = `The test case does without ${fields.join(', ')}, which may be a credential: --jwt-claims and --api-key stay in it.`
  return [
    ...unusedStubs(run),
    ...unusedServerName(run, explanation),
    ...unusedCredentials(run, explanation),
    ...(fields.length === 0 ? [] : [without]),
  ]
}

function unusedServerName({ request: { sni }, gateway: { snapshot } }: Run, { port }: Explanation): string[] {
  const bind = snapshot.binds.find(each => each.port === port)
  if (sni === undefined || bind?.protocol === 'tls') return []
  return [`--tls-sni has no effect: port ${port} does not speak TLS, so nothing asks it for a server name.`]
}

/** Stand-in credentials that no policy asks for. */
function unusedCredentials({ request: { jwt, apiKey } }: Run, { policies, listener, routes }: Explanation): string[] {
  // If no route is reached, it is unknown what it would ask for.
  if (listener === null || routes.every(({ name }) => name === null)) return []
  const asks = (...what: readonly string[]) =>
    policies.some(({ policy }) => what.includes(policyNamed.get(policy)?.asksFor ?? ''))
  return [
    ...(jwt && !asks('token', 'session') ? ['--jwt-claims has no effect: no policy of this route takes a token.'] : []),
    ...(apiKey && !asks('key') ? ['--api-key has no effect: no policy of this route takes a key.'] : []),
  ]
}

/** A name may be misspelt. */
function unusedStubs({ stubbed, outcome: { upstream } }: Run): string[] {
  const asked = new Set(upstream.map(({ stub }) => stub))
  const called = [...new Set(upstream.flatMap(({ names }) => names))]
  const known = called.length === 0 ? 'nothing is called' : `what is called has the names ${called.join(', ')}`
  return [...stubbed]
    .filter(name => name !== EVERYTHING && !asked.has(name))
    .map(name => `The stub ${name} is not asked: ${didYouMean(name, called) ?? known}`)
}

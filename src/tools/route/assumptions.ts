import type { Bind, Listener } from '../../config/snapshot.ts'
import { fieldOf } from '../dry-run/dry-request.ts'
import type { Run } from './explain-request.ts'
import type { Assumption } from './explanation.ts'

/** Everything that the outcome depends on and cannot be known without the network. */
export function assumptionsOf(run: Run, bind: Bind, listener: Listener | undefined): Assumption[] {
  const way = portAssumption(run, bind)
  if (run.outcome.reason === 'Connection') return way
  return [
    ...way,
    ...lackingAssumptions(run),
    ...tlsAssumptions(run, bind, listener),
    ...callerAssumptions(run),
    ...budgetAssumption(run),
    ...healthAssumption(run),
    ...answerAssumptions(run),
  ]
}

function lackingAssumptions({ lacking: { variables, files } }: Run): Assumption[] {
  const unset = variables.map(name => ({
    unknown: `the value of $${name}, which is not set`,
    assumed: 'a placeholder',
  }))
  const unread = files.map(message => ({
    unknown: `what ${message.replace(/^the file (.*) cannot/, '$1 holds, which cannot')}`,
    assumed: 'nothing',
  }))
  return [...unset, ...unread]
}

function tlsAssumptions({ request }: Run, bind: Bind, listener: Listener | undefined): Assumption[] {
  const secure = request.url.startsWith('https:')
  const speaks = bind.protocol === 'tls'
  if (speaks && listener?.tls?.ca && secure) {
    return [{ unknown: "whether the client's certificate is accepted", assumed: 'it is' }]
  }
  if (request.url.startsWith('/') || speaks === secure) return []
  if (speaks) return [{ unknown: 'how the client gets past TLS, which its URL does not ask for', assumed: 'it does' }]
  return [{ unknown: 'what ends TLS before this port', assumed: 'something does' }]
}

function portAssumption({ request }: Run, bind: Bind): Assumption[] {
  if (request.url.startsWith('/')) return []
  const { port, protocol } = new URL(request.url)
  const asked = Number(port) || (protocol === 'https:' ? 443 : 80)
  if (bind.port === asked) return []
  return [{ unknown: `what leads to port ${asked}, which is not opened here`, assumed: `port ${bind.port}` }]
}

function callerAssumptions({ request, opensSession }: Run): Assumption[] {
  const out: Assumption[] = []
  if (request.jwt) out.push({ unknown: 'whether a token with these claims is signed', assumed: 'it is' })
  if (opensSession) {
    const flag = "-H 'mcp-session-id: ID'"
    out.push({ unknown: 'the MCP session, which the request does not name', assumed: 'one just opened', flag })
  }
  return out
}

function budgetAssumption({ outcome: { headers } }: Run): Assumption[] {
  const limited = fieldOf(headers, 'x-ratelimit-limit') !== undefined
  return limited ? [{ unknown: 'what earlier requests have taken of the budget', assumed: 'nothing' }] : []
}

function healthAssumption({ gateway: { snapshot }, outcome }: Run): Assumption[] {
  const listeners = snapshot.binds.flatMap(bind => bind.listeners)
  const uses = listeners.flatMap(({ routes }) => routes.flatMap(({ backends }) => backends))
  const backend = uses.find(use => use.backend.name === outcome.backend)?.backend
  if (backend?.kind === 'dynamic') {
    return [{ unknown: 'the addresses of the host that is asked for', assumed: 'ones that may be called' }]
  }
  const health = backend?.health?.()
  if (!Array.isArray(health) || health.length === 0) return []
  return [{ unknown: `the health of ${health.length} endpoints`, assumed: 'all healthy' }]
}

/** One for each destination that is called without a stub. */
function answerAssumptions({ outcome }: Run): Assumption[] {
  const open = outcome.upstream.filter(({ stub }) => stub === undefined)
  const byName = new Map(open.map(call => [call.names[0] ?? call.url, call]))
  return [...byName].map(([name, { status }]) => {
    const assumed = `${status ?? 'nothing'} with a minimal body`
    return { unknown: `what ${name} answers`, assumed, flag: `--stub ${name}=STATUS[:FILE]` }
  })
}

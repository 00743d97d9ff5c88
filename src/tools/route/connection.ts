import type { Bind, Listener } from '../../config/snapshot.ts'
import { Failure } from '../../diagnostics/failure.ts'
import type { ConnectionFacts } from '../../http/exchange.ts'
import type { DryRequest } from '../dry-run/dry-run.ts'
import type { PolicyPassed } from './explanation.ts'
import { place } from './trace-reading.ts'

/** What the policies over connections say, which come before any HTTP. One that fails closes the connection. */
export async function connectionPolicies(bind: Bind, { source }: DryRequest): Promise<PolicyPassed[]> {
  const facts: ConnectionFacts = { id: 1, address: source ?? '127.0.0.1', port: 1, localPort: bind.port }
  const out: PolicyPassed[] = []
  for (const { policy, hooks, origins } of bind.connection) {
    const passes = (await hooks.connection?.(facts)) ?? true
    const detail = passes ? {} : { detail: 'closes the connection' }
    const result = passes ? 'applied' : 'failed'
    const nothing = { overridden: [], fields: [], rules: [], expressions: [] }
    out.push({ policy, at: 'connection', result, ...detail, origins: origins.map(place), ...nothing })
    if (!passes) break
  }
  return out
}

/** Throws a Failure where connections are passed on as they are, so that there is no request to explain. */
export function checkHttp(bind: Bind, listener: Listener | undefined): void {
  const passed = bind.protocol === 'tcp' || listener?.passthrough === true || (listener?.tcpRoutes.length ?? 0) > 0
  if (!passed) return
  throw new Failure('input', `port ${bind.port} passes connections on as they are, and looks at no request in them.`, {
    help: `${place((listener ?? bind).origin)} says so. gwctl dump routes shows where they go.`,
  })
}

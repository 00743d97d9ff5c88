import { ownExchange } from '../../calls/derived-exchange.ts'
import type { Callee } from '../../calls/outcall.ts'
import { runAttempt } from '../../calls/run-policies.ts'
import { emptyHead } from '../../http/exchange.ts'
import { isFieldName, toFieldValue } from '../../http/field-value.ts'
import type { Tunnel } from '../../http/transport.ts'
import { definePolicy } from '../policy.ts'
import { connectionFields, convertTunnel } from './cluster/connection.ts'
import { backendTunnelDeclaration } from './policy-target.ts'

export const backendTunnel = definePolicy({
  ...backendTunnelDeclaration,
  cluster: [
    {
      section: 'backend',
      on: 'target',
      member: 'tunnel',
      field: connectionFields.tunnel,
      convert: convertTunnel,
    },
  ],
  guards: true,
  attach: ['route', 'backend', 'target'],
  perBackend: true,
  compile({ proxy, policies }, ctx) {
    const callee = ctx.callee?.(proxy, ['proxy'], policies && { specs: policies, at: ['policies'] })
    return callee === undefined ? {} : { upstream: { tunnel: tunnelThrough(callee) } }
  },
})

function tunnelThrough(callee: Callee): Tunnel {
  return {
    key: callee.key,
    proxy: () => callee.target(),
    fields: () => (callee.steps.attempt.length === 0 ? [] : fieldsFrom(callee)),
  }
}

/** What the policies on the proxy write on a request: its credential, for one. They see the CONNECT, no client's request. */
function fieldsFrom({ steps, name }: Callee): readonly string[] {
  const x = ownExchange({ request: { ...emptyHead(), method: 'CONNECT' } })
  // The connection is being opened: what would have to wait comes too late.
  const verdict = runAttempt(steps.attempt, x, { index: 0, target: name, startedAt: 0 })
  if (verdict instanceof Promise) verdict.catch(() => {})
  const out: string[] = []
  const { raw } = x.request.headers
  for (let i = 0; i < raw.length; i += 2) {
    const value = toFieldValue(raw[i + 1] as string)
    if (value !== undefined && isFieldName(raw[i] as string)) out.push(raw[i] as string, value)
  }
  return out
}

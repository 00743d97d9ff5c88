import { type Attempt, bodyOf, Exchange, emptyHead } from '../../http/exchange.ts'
import { isFieldName, toFieldValue } from '../../http/field-value.ts'
import type { Tunnel } from '../../http/transport.ts'
import { type Callee, definePolicy } from '../policy.ts'
import { backendTunnelDeclaration } from './policy-target.ts'

export const backendTunnel = definePolicy({
  ...backendTunnelDeclaration,
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
    fields: () => (callee.hooks.length === 0 ? [] : fieldsFrom(callee)),
  }
}

/** What the policies on the proxy write on a request: its credential, for one. They see the CONNECT, no client's request. */
function fieldsFrom({ hooks, name }: Callee): readonly string[] {
  const x = new Exchange({
    id: '',
    connection: { id: 0, address: '', port: 0, localPort: 0 },
    startedAt: 0,
    startedMono: 0,
    httpVersion: '1.1',
    request: { ...emptyHead(), method: 'CONNECT' },
    body: bodyOf(undefined),
  })
  const attempt: Attempt = { index: 0, target: name, startedAt: 0 }
  for (const { attempt: perCall, request } of hooks) {
    if (perCall) void perCall(x, attempt)
    else void request?.(x)
  }
  const out: string[] = []
  const { raw } = x.request.headers
  for (let i = 0; i < raw.length; i += 2) {
    const value = toFieldValue(raw[i + 1] as string)
    if (value !== undefined && isFieldName(raw[i] as string)) out.push(raw[i] as string, value)
  }
  return out
}

import { ownExchange } from '../../calls/derived-exchange.ts'
import type { Callee } from '../../calls/outcall.ts'
import { runAttempt } from '../../calls/run-policies.ts'
import { authorityOf } from '../../http/authority.ts'
import { emptyHead } from '../../http/exchange.ts'
import { isFieldName, toFieldValue } from '../../http/field-value.ts'
import { HeaderList } from '../../http/headers.ts'
import type { Target, Tunnel } from '../../http/transport.ts'
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
    fields() {
      const written = callee.steps.attempt.length === 0 ? [] : fieldsFrom(callee)
      const target = callee.target()
      return target.sign === undefined ? written : signedFields(written, target, target.sign)
    },
  }
}

/** With a cloud credential, which must be fetched. */
async function signedFields(
  written: readonly string[],
  target: Target,
  sign: NonNullable<Target['sign']>,
): Promise<readonly string[]> {
  const headers = new HeaderList([...written], true)
  const request = { method: 'CONNECT', path: '/', authority: authorityOf(target), headers, body: undefined }
  return (await sign(request, target)).headers.raw
}

/**
 * The fields that the proxy's policies set, such as its credential. They see the CONNECT rather than a client's
 * request.
 */
function fieldsFrom({ steps, name }: Callee): readonly string[] {
  const x = ownExchange({ request: { ...emptyHead(), method: 'CONNECT' } })
  // The connection is being opened: asynchronous hooks would be too late.
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

import type { Policies } from '../../../policies/parts/cluster-form.ts'
import { nameOf } from '../cluster-view.ts'
import { clientCertificate } from '../listener-tls.ts'
import type { GatewayListener } from '../listeners.ts'
import { dataOf, fileOf } from '../secrets.ts'
import { at, type Work } from '../work.ts'

/** Adds the Gateway's client certificate where the backend is called over TLS. */
export function withCertificate(policies: Policies, listeners: readonly GatewayListener[], work: Work): Policies {
  const { backendTLS } = policies
  if (!backendTLS) return policies
  const secret = listeners
    .map(({ gateway }) => clientCertificate(gateway, work)?.secret)
    .find(each => each !== undefined)
  if (!secret) return policies
  const file = (key: string) => fileOf(work, secret, key, dataOf(secret, key) ?? Buffer.alloc(0))
  const shown = { ...(backendTLS as Policies), cert: file('tls.crt'), key: file('tls.key') }
  if (shown.cert === undefined) {
    work.lose(at(secret), `${nameOf(secret)} has to be files: pass --files-dir DIR; until then no certificate is shown`)
    return policies
  }
  const out = { ...policies, backendTLS: shown }
  const from = work.origins.own(policies, 'backendTLS', backendTLS)
  if (from) {
    work.origins.mark(shown, from)
    work.origins.field(out, 'backendTLS', from)
  }
  return out
}

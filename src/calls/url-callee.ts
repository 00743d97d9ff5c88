import { hash } from 'node:crypto'
import { ipVersion } from '../http/ip-version.ts'
import type { Target, TlsOptions } from '../http/transport.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { dispatch } from './dispatch.ts'
import type { Callee } from './outcall.ts'
import { NO_STEPS } from './step.ts'

/** ms. */
const CONNECT_TIMEOUT = 10_000

/** The server at a URL from a document or a policy: no policies are attached to it. */
export function urlCallee(
  address: URL,
  { transport }: Pick<Runtime, 'transport'>,
  tls?: TlsOptions,
  permits?: Target['permits'],
): Callee {
  const target = urlTarget(address, tls, permits)
  return {
    name: address.host,
    key: target.key,
    steps: NO_STEPS,
    target: () => target,
    send(x, attempt, on) {
      attempt.target = `${target.host}:${target.port}`
      const { method, path, headers, authority } = x.request
      const { timeout = 0 } = attempt
      const purpose = x.purpose && { purpose: x.purpose }
      dispatch(
        { transport },
        x,
        target,
        { method, path, authority, headers, body: x.body.take(), timeout, ...purpose },
        on,
      )
    },
  }
}

/**
 * `tls`: options for an https URL; if unset, verified against the system’s trust store. `permits`: for an address that
 * others chose.
 */
export function urlTarget(address: URL, tls?: TlsOptions, permits?: Target['permits']): Target {
  const secure = address.protocol === 'https:'
  const host = address.hostname.replace(/^\[|\]$/g, '')
  return {
    key: `url ${address.origin}${secure && tls ? ` ${hash('sha256', JSON.stringify(tls), 'base64url')}` : ''}${permits ? ' guarded' : ''}`,
    host,
    port: address.port === '' ? (secure ? 443 : 80) : Number(address.port),
    connectTimeout: CONNECT_TIMEOUT,
    named: ipVersion(host) === 0,
    ...(secure ? { tls: tls ?? {} } : {}),
    ...(permits ? { permits } : {}),
  }
}

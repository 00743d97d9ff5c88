import { asFields, asItems } from '../../schema/untyped.ts'
import { nameOf } from './cluster-view.ts'
import type { GatewayListener, GatewayState } from './listeners.ts'
import { allListeners } from './listeners.ts'
import { type Entry, gatewayKey, listenerName, type Output } from './output.ts'
import { dataOf, fileOf } from './secrets.ts'
import { isFalse } from './status/conditions.ts'
import { at, type Work } from './work.ts'

/** Writes the ports of all Gateways; returns the listeners that are served. */
export function writeGateways(states: readonly GatewayState[], output: Output, work: Work): Set<GatewayListener> {
  const served = new Set<GatewayListener>()
  const taken = new Map<string, GatewayState>()
  for (const state of states) {
    if (state.problems.some(({ type }) => type === 'Accepted') || state.address?.problem) {
      work.lose(at(state.gateway), `Gateway ${nameOf(state.gateway)} is not accepted: ${state.problems[0]!.message}`)
      continue
    }
    for (const { set, refused } of state.sets) if (refused !== undefined) work.lose(at(set), refused)
    for (const listener of allListeners(state)) {
      if (isRefused(listener, state, taken, work)) continue
      const tls = tlsOf(listener, work)
      if (tls === null) continue
      taken.set(placeOf(listener, state), state)
      served.add(listener)
      add(listener, state, tls, output, work)
    }
  }
  return served
}

function isRefused(
  listener: GatewayListener,
  state: GatewayState,
  taken: ReadonlyMap<string, GatewayState>,
  work: Work,
): boolean {
  const { owner, index, problems, port } = listener
  const from = at(owner, 'spec', 'listeners', index)
  const problem = listener.conflicted
    ? problems[0]
    : problems.find(({ type, reason }) => type === 'Accepted' || reason !== 'InvalidRouteKinds')
  if (problem) {
    work.lose(from, `listener \`${listener.name}\` is not served: ${problem.message}`)
    return true
  }
  if (listener.internal) {
    work.lose(from, `listener \`${listener.name}\` is internal: the file opens no port for it`)
    return true
  }
  if (listener.protocol === 'HBONE') {
    work.lose(from, `listener \`${listener.name}\` speaks HBONE, which is not served`, { unserved: true })
    return true
  }
  const other = taken.get(placeOf(listener, state))
  if (other && other !== state) {
    const where = `port ${port} belongs to Gateway ${nameOf(other.gateway)}`
    if (work.options.live) problems.unshift(isFalse('Accepted', 'PortUnavailable', where))
    work.lose(from, `${where}: a cluster runs one proxy for each Gateway`, {
      note: `translate Gateways one at a time: --gateway ${nameOf(state.gateway)}`,
    })
    return true
  }
  return false
}

/** Two Gateways may use the same port at different addresses. */
function placeOf({ port, protocol }: GatewayListener, { address }: GatewayState): string {
  return `${address?.listen ?? ''}/${port}${protocol === 'UDP' ? '/udp' : ''}`
}

const WITHOUT_CERTIFICATE =
  'name one Secret in `tls.certificateRefs`, or write `protocol: HTTP`; until then its port is closed'

/** Null: the listener cannot be served, which is reported. */
function tlsOf(listener: GatewayListener, work: Work): Entry | undefined | null {
  const { protocol, tls, owner, index } = listener
  const from = at(owner, 'spec', 'listeners', index, 'tls')
  if (tls.unserved !== undefined) {
    work.lose(from, `listener \`${listener.name}\`: ${tls.unserved}`, { unserved: true })
    return null
  }
  if (!tls.certificate) {
    if (protocol !== 'HTTPS') return undefined
    const named = asItems(asFields(listener.raw.tls)?.certificateRefs).length
    work.lose(at(owner, 'spec', 'listeners', index), `listener \`${listener.name}\` has no certificate`, {
      // A Secret that is named may be in another file; an unnamed one cannot.
      ...(named === 1 ? {} : { refused: true, note: WITHOUT_CERTIFICATE }),
    })
    return null
  }
  const path = (key: string, holder = tls.certificate!) =>
    fileOf(work, holder, key, dataOf(holder, key) ?? Buffer.alloc(0))
  const out: Entry = { cert: path('tls.crt'), key: path('tls.key') }
  if (tls.clientCa) out.root = path('ca.crt', tls.clientCa)
  if (tls.clientCa && tls.clientCaOptional) out.clientCertificate = 'optional'
  if (out.cert === undefined) {
    work.lose(from, `listener \`${listener.name}\` needs its certificate as a file: pass --files-dir DIR`)
    return null
  }
  return work.origins.mark(out, from)
}

function add(
  listener: GatewayListener,
  { address }: GatewayState,
  tls: Entry | undefined,
  output: Output,
  work: Work,
): void {
  const key = gatewayKey(listener)
  const from = at(listener.owner, 'spec', 'listeners', listener.index)
  const place = { port: listener.port, ...(address?.listen === undefined ? {} : { address: address.listen }) }
  output.gateways[key] ??= work.origins.mark({ ...place, listeners: [] }, from)
  const entry: Entry = { name: listenerName(listener) }
  if (listener.hostname !== undefined) entry.hostname = listener.hostname
  entry.protocol = listener.protocol
  if (tls) entry.tls = tls
  ;(output.gateways[key].listeners as Entry[]).push(work.origins.mark(entry, from))
}

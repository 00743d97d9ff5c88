import type { Finding, Path } from '../../diagnostics/diagnostic.ts'
import { asItems, asText, type Fields } from '../../schema/untyped.ts'
import { place, type Resource } from '../resources/resource.ts'
import { specOf } from '../translate/cluster-view.ts'
import { allListeners, type GatewayListener, type GatewayState } from '../translate/listeners.ts'
import { type KubeObject, namespaced, type Replica, type Report } from './replica.ts'

/** For a Gateway without ports, so that its load balancer can be created first. */
const NO_PORTS = [{ name: 'listener-443', port: 443, targetPort: 443, protocol: 'TCP' }]

/** The Service in front of the Pods: one port per listener port. */
export function service(
  replica: Replica,
  state: GatewayState,
  reserved: readonly number[],
  report: Report,
): KubeObject {
  const ports = new Map<string, Fields>()
  for (const listener of allListeners(state)) {
    if (listener.internal || listener.conflicted) continue
    if (reserved.includes(listener.port)) {
      report(reservedPort(listener))
      continue
    }
    const { port } = listener
    const protocol = listener.protocol === 'UDP' ? 'UDP' : 'TCP'
    ports.set(`${port}/${protocol}`, {
      name: protocol === 'UDP' ? `listener-${port}u` : `listener-${port}`,
      port,
      targetPort: port,
      protocol,
    })
  }
  const list = [...ports.values()].sort((a, b) => Number(a.port) - Number(b.port))
  return namespaced(replica, 'v1', 'Service', {
    spec: {
      type: 'LoadBalancer',
      selector: replica.selector,
      ports: list.length > 0 ? list : NO_PORTS,
      ...addressOf(replica.gateway, report),
    },
  })
}

function reservedPort({ owner, index, port, name }: GatewayListener) {
  return finding(owner, ['listeners', index, 'port'], {
    code: 'GW202',
    message: `listener \`${name}\` has port ${port}, which the replica itself needs: it is not in the Service`,
    label: 'metrics, readiness and the admin server have ports of their own',
    help: 'take another port; a Service can still show this one, with `targetPort` in the overlay `service`',
  })
}

/** A load balancer accepts one address. */
function addressOf(gateway: Resource, report: Report): Fields {
  const addresses = asItems(specOf(gateway).addresses)
  const wrong = addresses.findIndex(({ type }, i) => i > 0 || (asText(type) ?? 'IPAddress') !== 'IPAddress')
  if (wrong >= 0) {
    report(
      finding(gateway, ['addresses', wrong], {
        code: 'GW111',
        message: 'a Service of type LoadBalancer takes one address, of type IPAddress',
        help: 'leave this address out, or say what is wanted in the overlay `service` of the parameters',
      }),
    )
  }
  const first = wrong === 0 ? undefined : asText(addresses[0]?.value)
  return first === undefined ? {} : { loadBalancerIP: first }
}

function finding(resource: Resource, path: Path, words: Omit<Finding, 'path' | 'at'>) {
  return place(resource, { ...words, path: [...resource.path, 'spec', ...path], at: 'value' })
}

// The services of the file and their workloads, by the reference that backends use.
import type { Service, ServiceEndpoint } from '../../backends/backend.ts'
import type { Path } from '../../diagnostics/diagnostic.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import { type Compilation, leftOut, sectionMisspelt } from '../compile-context.ts'
import type { Standalone } from '../standalone/standalone.ts'

type ServiceSection = Standalone['services'][number]
type WorkloadSection = Standalone['workloads'][number]

export class Services {
  readonly #c: Compilation
  readonly #all: readonly ServiceSection[]
  readonly #byName = new Map<string, ServiceSection>()
  readonly #workloads: readonly WorkloadSection[]

  constructor(c: Compilation, { services, workloads }: Standalone) {
    this.#c = c
    this.#all = services
    this.#workloads = workloads
    for (const service of services) this.#add(service)
    for (const workload of workloads) this.#check(workload)
  }

  /** One port of a service; undefined after a finding at `path`, where the reference is written. */
  resolve(name: string, port: number, path: Path): Service | undefined {
    const service = this.#byName.get(name)
    if (!service) {
      this.#reportUnknown(name, path)
      return undefined
    }
    const targetPort = service.ports[String(port)]
    if (targetPort === undefined) {
      this.#c.report({
        code: 'GW208',
        message: `the service \`${name}\` has no port ${port}`,
        path: [...path, 'port'],
        at: 'value',
        label: 'not among its `ports`',
        help: `its ports: ${Object.keys(service.ports).join(', ') || 'none'}`,
      })
      return undefined
    }
    return {
      hostname: service.hostname,
      protocol: service.appProtocols?.[String(port)],
      subjectAltNames: service.subjectAltNames ?? [],
      endpoints: this.#workloads.filter(isCalled(service)).flatMap(each => endpointsOf(each, name, port, targetPort)),
    }
  }

  #add(service: ServiceSection): void {
    const name = `${service.namespace}/${service.hostname}`
    const first = this.#byName.get(name)
    if (first === undefined) {
      this.#byName.set(name, service)
      return
    }
    const place = (of: ServiceSection): Path => [...(this.#c.paths.get(of) ?? ['services']), 'hostname']
    this.#c.report({
      code: 'GW203',
      message: `two services are \`${name}\``,
      path: place(service),
      at: 'value',
      label: 'used a second time',
      related: [{ path: place(first), at: 'value', message: 'first used here' }],
    })
  }

  #check(workload: WorkloadSection): void {
    const path = this.#c.paths.get(workload) ?? ['workloads']
    if (workload.protocol !== undefined && workload.protocol !== 'TCP') {
      this.#c.report({
        code: 'GW601',
        message: `not served yet: endpoints that speak ${workload.protocol}. They would be called over plain TCP`,
        path: [...path, 'protocol'],
        at: 'value',
      })
    }
  }

  #reportUnknown(name: string, path: Path): void {
    const dropped = leftOut(this.#c, ['services'], this.#all)
    // Its name is not its hostname, so any dropped service may be the one that is meant.
    if (dropped.length > 0 || sectionMisspelt(this.#c, 'services')) return
    const known = [...this.#byName.keys()]
    this.#c.report({
      code: 'GW204',
      message: `no service is \`${name}\``,
      path: [...path, 'name'],
      at: 'value',
      label: 'not defined in `services`',
      help:
        didYouMean(name, known) ??
        (known.length > 0
          ? `services defined here, as namespace/hostname: ${known.map(n => `\`${n}\``).join(', ')}`
          : 'the file has no `services` section'),
    })
  }
}

function isCalled({ loadBalancer }: ServiceSection): (workload: WorkloadSection) => boolean {
  const all = loadBalancer?.healthPolicy === 'AllowAll'
  return ({ status }) => all || status !== 'Unhealthy'
}

function endpointsOf(workload: WorkloadSection, service: string, port: number, targetPort: number): ServiceEndpoint[] {
  const ports = workload.services[service]
  const capacity = workload.capacity ?? 1
  if (ports === undefined || capacity === 0) return []
  const own = ports[String(port)] ?? targetPort
  const { workloadIps, hostname } = workload
  const hosts = workloadIps.length === 0 && hostname !== undefined ? [hostname] : workloadIps
  return hosts.map(host => ({
    name: host.includes(':') ? `[${host}]:${own}` : `${host}:${own}`,
    host,
    port: own,
    capacity,
  }))
}

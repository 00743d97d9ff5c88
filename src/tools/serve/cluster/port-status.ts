import { idOf, specOf } from '../../../cluster/translate/cluster-view.ts'
import { type Condition, isFalse, type Status } from '../../../cluster/translate/status/conditions.ts'
import { bindKey } from '../../../config/plan-listeners.ts'
import { asFields, asItems, type Fields } from '../../../schema/untyped.ts'

export interface PortWorld {
  /** Why ports could not be opened, by the key of their bind. */
  failures(): ReadonlyMap<string, string>
  /** The address that a Gateway, `namespace/name`, listens on; undefined for all addresses. */
  addressOf(gateway: string): string | undefined
}

/** Says in the statuses of Gateways and ListenerSets which ports could not be opened. */
export class PortStatuses {
  readonly #world: PortWorld
  /** The statuses with listeners, without their ports. */
  readonly #known = new Map<string, Status>()

  constructor(world: PortWorld) {
    this.#world = world
  }

  /** `whole`: there are no others. */
  take(statuses: readonly Status[], whole: boolean): Status[] {
    if (whole) this.#known.clear()
    for (const each of statuses) if (each.status.listeners !== undefined) this.#known.set(idOf(each.resource), each)
    return statuses.map(each => this.#withPorts(each))
  }

  /** Those that depend on ports, as it is now. */
  get current(): Status[] {
    return [...this.#known.values()].map(each => this.#withPorts(each))
  }

  #withPorts(whole: Status): Status {
    const { resource, status } = whole
    const failures = this.#world.failures()
    if (failures.size === 0 || status.listeners === undefined) return whole
    const parent = asFields(specOf(resource).parentRef) ?? { name: resource.name }
    const address = this.#world.addressOf(`${String(parent.namespace ?? resource.namespace)}/${String(parent.name)}`)
    const written = asItems(specOf(resource).listeners)
    const found = new Set<string>()
    const listeners = asItems(status.listeners).map(listener => {
      const { port, protocol } = written.find(({ name }) => name === listener.name) ?? {}
      const failure = failures.get(bindKey({ port: Number(port), address, datagrams: protocol === 'UDP' }))
      if (failure === undefined || !isProgrammed(listener)) return listener
      found.add(failure)
      return pending(listener, failure)
    })
    if (found.size === 0) return whole
    return { resource, status: { ...pending(status, [...found].join('; ')), listeners } }
  }
}

function isProgrammed({ conditions }: Fields): boolean {
  return asItems(conditions).some(({ type, status }) => type === 'Programmed' && status === 'True')
}

function pending(part: Fields, message: string): Fields {
  const conditions = (part.conditions as readonly Condition[]).map(each =>
    each.type === 'Programmed' ? isFalse('Programmed', 'Pending', message) : each,
  )
  return { ...part, conditions }
}

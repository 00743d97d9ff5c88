import type { Policies } from '../../policies/parts/cluster-form.ts'
import type { Resource } from '../resources/resource.ts'
import type { GatewayListener } from './listeners.ts'

export type Entry = Record<string, unknown>

/** The standalone file under construction. */
export interface Output {
  readonly config: Policies
  readonly frontendPolicies: Policies
  readonly gateways: Record<string, Entry>
  readonly routes: Entry[]
  readonly tcpRoutes: Entry[]
  readonly policies: Entry[]
  readonly backends: Entry[]
  readonly services: Entry[]
  llm?: Entry
}

/** A route of the file, with the chain of resource rules that led to it, outermost first. */
export interface EmittedRoute {
  readonly entry: Entry
  readonly chain: readonly { readonly route: Resource; readonly rule: string | undefined }[]
  readonly name: string
  readonly namespace: string
  readonly listeners: readonly GatewayListener[]
}

export function createOutput(): Output {
  return {
    config: {},
    frontendPolicies: {},
    gateways: {},
    routes: [],
    tcpRoutes: [],
    policies: [],
    backends: [],
    services: [],
  }
}

/** The key of a Gateway's port in the file. */
export function gatewayKey({ gateway, port, protocol }: GatewayListener): string {
  return `${gateway.namespace}.${gateway.name}.${port}${protocol === 'UDP' ? '.udp' : ''}`
}

/** The name of a listener under that key. */
export function listenerName({ owner, name }: GatewayListener): string {
  return owner.kind.kind === 'Gateway' ? name : `${owner.namespace}.${owner.name}.${name}`
}

export function listenerRef(listener: GatewayListener): string {
  return `${gatewayKey(listener)}/${listenerName(listener)}`
}

/** The non-empty sections, in file order. */
export function finished(output: Output): Record<string, unknown> {
  const { config, frontendPolicies, gateways, routes, tcpRoutes, policies, backends, services, llm } = output
  const sections = { config, frontendPolicies, gateways, routes, tcpRoutes, policies, backends, services, llm }
  return Object.fromEntries(
    Object.entries(sections).filter(([, value]) => value !== undefined && Object.keys(value).length > 0),
  )
}

import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import { canonical } from '../resources/graph.ts'
import type { Resource } from '../resources/resource.ts'
import { CONTROLLER, GATEWAY_GROUP, nameOf, specOf } from './cluster-view.ts'
import { clientCertificate, internalPorts, type ListenerTls, listenerTls } from './listener-tls.ts'
import { parametersProblem } from './status/class-status.ts'
import { type Condition, isFalse, isTrue } from './status/conditions.ts'
import type { GatewayAddress, Work } from './work.ts'

/** A listener of a Gateway or ListenerSet. */
export interface GatewayListener {
  /** The Gateway or ListenerSet that declares it. */
  readonly owner: Resource
  readonly gateway: Resource
  readonly index: number
  readonly name: string
  /** Unique over the whole file: `namespace/gateway.listener`. */
  readonly key: string
  readonly port: number
  readonly protocol: string
  readonly hostname: string | undefined
  readonly raw: Fields
  readonly kinds: readonly { readonly group: string; readonly kind: string }[]
  readonly tls: ListenerTls
  readonly internal: boolean
  /** Conditions that deviate from the normal state; the first of each type wins. */
  readonly problems: Condition[]
  /** In conflict with another listener: it gets no traffic. */
  conflicted: boolean
  attached: number
}

export interface GatewayState {
  readonly gateway: Resource
  readonly listeners: readonly GatewayListener[]
  readonly sets: readonly ListenerSetState[]
  readonly problems: readonly Condition[]
  /** Why the client certificate for backends is unavailable. */
  readonly clientCertificate: Condition | undefined
  readonly showsCertificate: boolean
  /** Set when following a cluster. */
  readonly address: GatewayAddress | undefined
}

export interface ListenerSetState {
  readonly set: Resource
  readonly listeners: readonly GatewayListener[]
  /** Why the Gateway rejects it. Undefined if it does not. */
  readonly refused: string | undefined
}

const PROTOCOL_KINDS: Readonly<Record<string, readonly string[]>> = {
  HTTP: ['HTTPRoute', 'GRPCRoute'],
  HTTPS: ['HTTPRoute', 'GRPCRoute'],
  TLS: ['TLSRoute'],
  TCP: ['TCPRoute'],
  UDP: ['UDPRoute'],
  HBONE: [],
}

/** All our Gateways, with their listeners and those of ListenerSets, oldest first. */
export function findGateways(work: Work): GatewayState[] {
  return work.cluster
    .list('Gateway')
    .filter(gateway => isOurs(gateway, work))
    .map(gateway => gatewayState(gateway, work))
}

/** A class that is not in the input is assumed to be ours. */
function isOurs(gateway: Resource, work: Work): boolean {
  const { live } = work.options
  const only = work.options.gateway ?? live?.gateway
  if (only !== undefined && only !== nameOf(gateway)) return false
  const name = asText(specOf(gateway).gatewayClassName)
  if (live && live.className !== name) return false
  const known = name === undefined ? undefined : work.cluster.find('GatewayClass', undefined, name)
  return known ? specOf(known).controllerName === CONTROLLER : !live
}

function gatewayState(gateway: Resource, work: Work): GatewayState {
  const internal = internalPorts(gateway)
  const shown = clientCertificate(gateway, work)
  const certificate = shown?.problems[0]
  const listeners = listenersOf(gateway, gateway, internal.ports, work)
  const placed = [...listeners]
  const sets = work.cluster
    .list('ListenerSet')
    .filter(set => parentOf(set) === nameOf(gateway))
    .map(set => {
      const state = setState(set, gateway, work)
      for (const listener of state.listeners) {
        findConflict(listener, placed)
        placed.push(listener)
      }
      return state
    })
  const problems = [...typeProblems(gateway)]
  const address = problems.length === 0 ? work.options.live?.addressOf(gateway) : undefined
  if (address?.problem) problems.push(address.problem)
  const parameters = asFields(specOf(gateway).infrastructure)?.parametersRef
  const missing = work.options.live && parametersProblem(gateway, parameters, work)
  if (missing !== undefined) problems.push(isFalse('Accepted', 'InvalidParameters', missing))
  if (!work.options.live && problems.length === 0) problems.push(...addressProblems(gateway))
  if (internal.problem !== undefined) problems.push(isFalse('Accepted', 'Invalid', internal.problem))
  return {
    gateway,
    listeners,
    sets,
    problems,
    clientCertificate: certificate,
    showsCertificate: shown !== undefined,
    address,
  }
}

function parentOf(set: Resource): string | undefined {
  const ref = asFields(specOf(set).parentRef)
  if (!ref || (asText(ref.kind) ?? 'Gateway') !== 'Gateway') return undefined
  return `${asText(ref.namespace) ?? set.namespace}/${String(ref.name)}`
}

function setState(set: Resource, gateway: Resource, work: Work): ListenerSetState {
  const allowed = asFields(asFields(specOf(gateway).allowedListeners)?.namespaces) ?? {}
  if (!work.cluster.admits(allowed, 'None', gateway.namespace, set.namespace)) {
    return { set, listeners: [], refused: `Gateway ${nameOf(gateway)} does not take ListenerSets of this namespace` }
  }
  return { set, listeners: listenersOf(set, gateway, internalPorts(set).ports, work), refused: undefined }
}

function listenersOf(owner: Resource, gateway: Resource, internal: ReadonlySet<number>, work: Work): GatewayListener[] {
  return asItems(specOf(owner).listeners).map((raw, index): GatewayListener => {
    const protocol = String(raw.protocol)
    const { kinds, problems } = kindsOf(raw, protocol)
    const tls = listenerTls(owner, gateway, raw, work)
    if (!Object.hasOwn(PROTOCOL_KINDS, protocol)) {
      const upper = protocol.toUpperCase()
      const hint = Object.hasOwn(PROTOCOL_KINDS, upper) ? ` (did you mean "${upper}"?)` : ''
      problems.push(isFalse('Accepted', 'UnsupportedProtocol', `protocol "${protocol}" is unsupported${hint}`))
    }
    problems.push(...tls.problems)
    return {
      owner,
      gateway,
      index,
      name: String(raw.name),
      key: `${owner.namespace}/${owner.name}.${String(raw.name)}`,
      port: Number(raw.port),
      protocol,
      hostname: asText(raw.hostname)?.toLowerCase(),
      raw,
      kinds,
      tls,
      internal: internal.has(Number(raw.port)),
      problems,
      conflicted: false,
      attached: 0,
    }
  })
}

function kindsOf(raw: Fields, protocol: string) {
  const terminates = asFields(raw.tls)?.mode !== 'Passthrough'
  const supported = [...(PROTOCOL_KINDS[protocol] ?? []), ...(protocol === 'TLS' && terminates ? ['TCPRoute'] : [])]
  const wanted = asItems(asFields(raw.allowedRoutes)?.kinds)
  if (wanted.length === 0) {
    return { kinds: supported.map(kind => ({ group: GATEWAY_GROUP, kind })), problems: [] as Condition[] }
  }
  const models = protocol === 'HTTP' || protocol === 'HTTPS'
  const named = wanted.map(({ group, kind }) => ({ group: asText(group) ?? GATEWAY_GROUP, kind: String(kind) }))
  const kinds = named.filter(({ group, kind }) =>
    canonical(kind) === 'ProxyModel' ? models : group === GATEWAY_GROUP && supported.includes(kind),
  )
  const problems: Condition[] = []
  if (kinds.length < named.length) {
    problems.push(isFalse('ResolvedRefs', 'InvalidRouteKinds', 'a kind in allowedRoutes.kinds is not supported here'))
  }
  return { kinds, problems }
}

/** Only listeners of ListenerSets can lose a conflict: earlier ones take precedence. */
function findConflict(listener: GatewayListener, placed: readonly GatewayListener[]): void {
  const others = placed.filter(each => meet(each, listener) && !each.conflicted)
  const mode = others.some(each => each.internal !== listener.internal)
  const protocol = others.some(each => each.protocol !== listener.protocol)
  const host = others.some(each => (each.hostname ?? '') === (listener.hostname ?? ''))
  const reason = mode ? 'BindModeConflict' : protocol ? 'ProtocolConflict' : host ? 'HostnameConflict' : undefined
  if (reason === undefined) return
  const message = CONFLICTS[reason]!
  listener.conflicted = true
  listener.problems.unshift(
    isFalse('Accepted', reason, message),
    isTrue('Conflicted', reason, message),
    isFalse('Programmed', reason, message),
  )
}

/** TCP and UDP ports are independent. */
function meet(a: GatewayListener, b: GatewayListener): boolean {
  return a.port === b.port && (a.protocol === 'UDP') === (b.protocol === 'UDP')
}

const CONFLICTS: Readonly<Record<string, string>> = {
  BindModeConflict:
    'Found conflicting bind modes on listeners; the higher-precedence listener determines whether the shared port is internal',
  ProtocolConflict: 'Found conflicting protocols on listeners; the higher-precedence listener has the port',
  HostnameConflict: 'Found conflicting hostnames on listeners; the higher-precedence listener has the host name',
}

function addressTypes(gateway: Resource): string[] {
  return asItems(specOf(gateway).addresses).map(({ type }) => asText(type) ?? 'IPAddress')
}

function typeProblems(gateway: Resource): Condition[] {
  const unknown = addressTypes(gateway).find(type => !['IPAddress', 'Hostname'].includes(type))
  if (unknown === undefined) return []
  return [isFalse('Accepted', 'UnsupportedAddress', `addresses of type ${unknown} are not supported`)]
}

function addressProblems(gateway: Resource): Condition[] {
  const types = addressTypes(gateway)
  if (types.length <= 1 && !types.includes('Hostname')) return []
  return [isFalse('Programmed', 'AddressNotUsable', 'only one address, of type IPAddress, is supported')]
}

/** All listeners of a Gateway that may get traffic. */
export function allListeners(state: GatewayState): GatewayListener[] {
  return [...state.listeners, ...state.sets.flatMap(({ listeners }) => listeners)]
}

import type { GatewayListener, GatewayState, ListenerSetState } from '../listeners.ts'
import { type Condition, isFalse, isTrue, type Status } from './conditions.ts'

const FINE = 'No errors found'

/** The statuses of a Gateway and of its attached ListenerSets. */
export function gatewayStatuses(state: GatewayState): Status[] {
  return [gatewayStatus(state), ...state.sets.map(setStatus)]
}

function gatewayStatus(state: GatewayState): Status {
  const { gateway, clientCertificate, problems, address } = state
  const conditions = [accepted(state), ...(clientCertificate ? [clientCertificate] : []), programmed(problems)]
  if (address && state.showsCertificate && !clientCertificate) {
    conditions.push(isTrue('ResolvedRefs', 'ResolvedRefs', FINE))
  }
  if (insecureFallback(state)) {
    conditions.push(
      isTrue(
        'InsecureFrontendValidationMode',
        'ConfigurationChanged',
        'clients without a valid certificate may connect',
      ),
    )
  }
  return {
    resource: gateway,
    status: {
      ...(address ? { addresses: address.published.map(value => ({ type: 'IPAddress', value })) } : {}),
      attachedListenerSets: state.sets.filter(set => set.listeners.some(isUsable)).length,
      conditions,
      listeners: state.listeners.map(listener => listenerStatus(listener, clientCertificate)),
    },
  }
}

function programmed(problems: readonly Condition[]): Condition {
  return (
    problems.find(({ type }) => type === 'Programmed') ??
    isTrue('Programmed', 'Programmed', 'Successfully programmed Gateway')
  )
}

function accepted({ problems, listeners }: GatewayState): Condition {
  const own = problems.find(({ type }) => type === 'Accepted')
  if (own) return own
  const bad = listeners.flatMap(listener => {
    const problem = summary(listener)
    return problem === undefined ? [] : [`${listener.name}: ${problem}`]
  })
  if (bad.length === 0) return isTrue('Accepted', 'Accepted')
  const message = `Some listeners are not accepted: ${bad.join('; ')}`
  const good = listeners.some(listener => !listener.problems.some(({ type }) => type === 'Accepted'))
  return good ? isTrue('Accepted', 'ListenersNotValid', message) : isFalse('Accepted', 'ListenersNotValid', message)
}

/** Why a listener gets no traffic. */
function summary({ problems, tls }: GatewayListener): string | undefined {
  if (tls.problems.length > 0) return 'Bad TLS configuration'
  return problems.find(({ type }) => type === 'Accepted')?.message
}

function insecureFallback({ gateway }: GatewayState): boolean {
  return JSON.stringify((gateway.raw.spec as { tls?: unknown } | undefined)?.tls ?? {}).includes(
    '"AllowInsecureFallback"',
  )
}

function setStatus({ set, listeners, refused }: ListenerSetState): Status {
  if (refused !== undefined) {
    const conditions = [isFalse('Accepted', 'NotAllowed', refused), isFalse('Programmed', 'NotAllowed', refused)]
    return { resource: set, status: { conditions } }
  }
  const good = listeners.filter(isUsable).length
  const conditions =
    good === 0
      ? [isFalse('Accepted', 'ListenersNotValid', ''), isFalse('Programmed', 'ListenersNotValid', '')]
      : [
          good < listeners.length
            ? isTrue('Accepted', 'ListenersNotValid')
            : isTrue('Accepted', 'Accepted', 'Resource accepted'),
          isTrue('Programmed', 'Programmed', 'Resource programmed'),
        ]
  return { resource: set, status: { conditions, listeners: listeners.map(each => listenerStatus(each, undefined)) } }
}

function isUsable({ problems, conflicted, tls }: GatewayListener): boolean {
  return !conflicted && tls.problems.length === 0 && !problems.some(({ type }) => type === 'Accepted')
}

function listenerStatus(listener: GatewayListener, certificate: Condition | undefined) {
  const { problems, tls, owner } = listener
  const of = (type: string) => problems.find(problem => problem.type === type)
  const resolved = of('ResolvedRefs') ?? certificate
  const fromSet = owner.kind.kind === 'ListenerSet' && tls.problems.length > 0 && of('Accepted') === undefined
  const bad = tls.problems.length > 0 ? 'Bad TLS configuration' : of('Accepted')?.message
  const conditions = [
    fromSet
      ? isFalse('Accepted', 'ListenersNotValid', resolved?.message ?? '')
      : (of('Accepted') ?? isTrue('Accepted', 'Accepted', FINE)),
    of('Conflicted') ?? isFalse('Conflicted', 'NoConflicts', FINE),
    of('Programmed') ??
      (bad === undefined ? isTrue('Programmed', 'Programmed', FINE) : isFalse('Programmed', 'Invalid', bad)),
    resolved ?? isTrue('ResolvedRefs', 'ResolvedRefs', FINE),
  ]
  return { name: listener.name, supportedKinds: listener.kinds, attachedRoutes: listener.attached, conditions }
}

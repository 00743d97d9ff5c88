import { asFields, asText } from '../../../schema/untyped.ts'
import { canonical } from '../../resources/graph.ts'
import type { Resource } from '../../resources/resource.ts'
import { CONTROLLER, specOf } from '../cluster-view.ts'
import type { Work } from '../work.ts'
import { isFalse, isTrue, type Status } from './conditions.ts'

/** The statuses of this controller's GatewayClasses, when following a cluster. */
export function classStatuses(work: Work): Status[] {
  if (!work.options.live) return []
  const ours = work.cluster.list('GatewayClass').filter(each => specOf(each).controllerName === CONTROLLER)
  return ours.map(each => classStatus(each, work))
}

function classStatus(found: Resource, work: Work): Status {
  const problem = parametersProblem(found, specOf(found).parametersRef, work)
  const accepted =
    problem === undefined
      ? isTrue('Accepted', 'Accepted', 'GatewayClass accepted')
      : isFalse('Accepted', 'InvalidParameters', problem)
  const version = isTrue('SupportedVersion', 'SupportedVersion', 'Gateway API CRDs are of a supported version')
  const supportedFeatures = SUPPORTED_FEATURES.toSorted().map(name => ({ name }))
  return { resource: found, status: { conditions: [accepted, version], supportedFeatures } }
}

/** Why the referenced parameters are unavailable. Undefined if there is no reference or it resolves. */
export function parametersProblem(owner: Resource, ref: unknown, work: Work): string | undefined {
  const named = asFields(ref)
  if (!named) return undefined
  const { group, kind, name, namespace = owner.namespace } = named
  const of = `${String(group)}/${String(kind)}`
  if (canonical(asText(kind) ?? '') !== 'ProxyParameters') return `parameters of kind ${of} are not supported`
  if (work.cluster.find('ProxyParameters', asText(namespace) ?? '', String(name))) return undefined
  return `${String(kind)} ${namespace === undefined ? '' : `${String(namespace)}/`}${String(name)} not found`
}

/** Optional features of the Gateway API that are supported. */
const SUPPORTED_FEATURES: readonly string[] = [
  'BackendTLSPolicy',
  'BackendTLSPolicySANValidation',
  'GRPCRoute',
  'GRPCRouteNamedRouteRule',
  'GRPCRouteRequestHeaderModifier',
  'Gateway',
  'GatewayAddressEmpty',
  'GatewayBackendClientCertificate',
  'GatewayFrontendClientCertificateValidation',
  'GatewayFrontendClientCertificateValidationInsecureFallback',
  'GatewayHTTPListenerIsolation',
  'GatewayHTTPSListenerDetectMisdirectedRequests',
  'GatewayPort8080',
  'GatewayStaticAddresses',
  'HTTPRoute',
  'HTTPRoute303RedirectStatusCode',
  'HTTPRoute307RedirectStatusCode',
  'HTTPRoute308RedirectStatusCode',
  'HTTPRouteBackendProtocolH2C',
  'HTTPRouteBackendProtocolWebSocket',
  'HTTPRouteBackendRequestHeaderModification',
  'HTTPRouteBackendTimeout',
  'HTTPRouteBackendURLRewrite',
  'HTTPRouteCORS',
  'HTTPRouteDestinationPortMatching',
  'HTTPRouteHostRewrite',
  'HTTPRouteMethodMatching',
  'HTTPRouteNamedRouteRule',
  'HTTPRouteParentRefPort',
  'HTTPRoutePathRedirect',
  'HTTPRoutePathRewrite',
  'HTTPRoutePortRedirect',
  'HTTPRouteQueryParamMatching',
  'HTTPRouteRequestMirror',
  'HTTPRouteRequestMultipleMirrors',
  'HTTPRouteRequestPercentageMirror',
  'HTTPRouteRequestTimeout',
  'HTTPRouteResponseHeaderModification',
  'HTTPRouteRetry',
  'HTTPRouteRetryBackendTimeout',
  'HTTPRouteRetryCodes',
  'HTTPRouteRetryConnectionError',
  'HTTPRouteSchemeRedirect',
  'ListenerSet',
  'ReferenceGrant',
  'TCPRoute',
  'TLSRoute',
  'TLSRouteModeMixed',
  'TLSRouteModeTerminate',
  'UDPRoute',
]

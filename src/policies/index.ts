import { guardrails } from './ai/guardrails.ts'
import { ai } from './ai.ts'
import { apiKey } from './api-key.ts'
import { authorization } from './authorization.ts'
import { basicAuth } from './basic-auth.ts'
import { buffer } from './buffer.ts'
import { cors } from './cors.ts'
import { csrf } from './csrf.ts'
import { delay } from './delay.ts'
import { directResponse } from './direct-response.ts'
import { extAuthz } from './external/ext-authz.ts'
import { extProc } from './external/ext-proc.ts'
import { mcpAuthentication } from './external/mcp-authentication.ts'
import { mcpGuardrails } from './external/mcp-guardrails.ts'
import { oidc } from './external/oidc.ts'
import { remoteRateLimit } from './external/remote-rate-limit.ts'
import { requestMirror } from './external/request-mirror.ts'
import { type AnyPolicy, fieldsFor } from './fields.ts'
import { accessLog } from './frontend/access-log.ts'
import { connect } from './frontend/connect.ts'
import { frontendHttp } from './frontend/http.ts'
import { networkAuthorization } from './frontend/network-authorization.ts'
import { networkExtAuthz } from './frontend/network-ext-authz.ts'
import { proxyProtocol } from './frontend/proxy-protocol.ts'
import { frontendTcp } from './frontend/tcp.ts'
import { frontendTls } from './frontend/tls.ts'
import { tracing } from './frontend/tracing.ts'
import { jwtAuth } from './jwt-auth.ts'
import { localRateLimit } from './local-rate-limit.ts'
import { mcpAuthorization } from './mcp-authorization.ts'
import { refusalDetails } from './refusal-details.ts'
import { requestHeaderModifier } from './request-header-modifier.ts'
import { requestRedirect } from './request-redirect.ts'
import { responseHeaderModifier } from './response-header-modifier.ts'
import { retry } from './retry.ts'
import { sessionPersistence } from './session-persistence.ts'
import { timeout } from './timeout.ts'
import { transformations } from './transformations.ts'
import { a2a } from './upstream/a2a.ts'
import { backendAuth } from './upstream/backend-auth.ts'
import { backendTLS } from './upstream/backend-tls.ts'
import { backendTunnel } from './upstream/backend-tunnel.ts'
import { health } from './upstream/health.ts'
import { http } from './upstream/http.ts'
import { inferenceRouting } from './upstream/inference-routing.ts'
import { sessionAffinity } from './upstream/session-affinity.ts'
import { tcp } from './upstream/tcp.ts'
import { urlRewrite } from './url-rewrite.ts'

export { targetPolicyFields } from './upstream/policy-target.ts'

/** The order in which policies run on a request; backend policies follow within each call. */
export const trafficPolicies = [
  refusalDetails, // observes every refusal below
  timeout, // its deadline runs from the start of the request
  cors, // a preflight carries no credentials and must pass before anything requires them
  oidc, // a browser without a session is sent to sign in, whatever token it lacks
  jwtAuth, // provides claims for everything below
  mcpAuthentication, // the same, for MCP clients
  basicAuth, // provides the user name for everything below
  apiKey, // provides the key's metadata for everything below
  extAuthz, // the service sees verified claims
  authorization, // rules may use what the service has returned
  retry, // its precondition sees the request as authorized
  localRateLimit, // refused requests take no tokens; the cheap limit comes before the one that calls out
  remoteRateLimit, // descriptors may use claims
  buffer, // whatever reads the body below finds it buffered
  extProc, // sees the client's request before anything here rewrites it
  transformations, // may use what the services above have returned
  csrf, // checks what the client sent, so its position among the rewriting ones does not matter
  requestHeaderModifier, // fixed values win over computed ones
  responseHeaderModifier, // does not run on requests; listed here to keep the two together
  urlRewrite, // prefixes are replaced in the path that matched
  requestRedirect, // its location is built from the rewritten request
  delay, // only requests that passed are held up
  directResponse, // last: no backend is called
  sessionPersistence, // its session has chosen the backend
  requestMirror, // copies carry what the backend gets
  http, // how the backend is reached: settings only, so their relative order does not matter
  tcp, // likewise
  backendTLS, // likewise
  backendTunnel, // likewise
  inferenceRouting, // the endpoint is picked
  sessionAffinity, // or kept
  health, // and may be left out
  mcpAuthorization, // evaluated by the MCP backend for each item
  mcpGuardrails, // called by the MCP backend for each message
  ai, // applied by the LLM backend to each request
  guardrails, // likewise, for the models of the `llm` section
  a2a, // sees requests and cards as the agent does
  backendAuth, // last: nothing may read or change the credential after it is written
] as const

export const policyNamed: ReadonlyMap<string, AnyPolicy> = new Map(trafficPolicies.map(policy => [policy.name, policy]))

/** The order in which policies run on a response; those not listed do not. */
export const responseOrder: readonly string[] = [
  'sessionPersistence', // says where the next request goes
  'responseHeaderModifier', // fixed values first, so that expressions see them
  'buffer', // expressions below read the body whole
  'transformations', // may rewrite any response, including local replies
  'extProc', // sees the response as the client would
  'ai', // the backend has already translated the response; guards came with it
  'refusalDetails', // last, so that nothing changes a refusal afterwards
]

export const frontendPolicies = [
  frontendHttp,
  frontendTls,
  frontendTcp,
  proxyProtocol, // the client's address is known before anything needs it
  networkAuthorization, // the cheap check comes before the one that calls out
  networkExtAuthz,
  connect,
  accessLog,
  tracing,
] as const

export const listenerPolicyFields = fieldsFor(trafficPolicies, 'listener')
export const routePolicyFields = fieldsFor(trafficPolicies, 'route')
export const backendPolicyFields = fieldsFor(trafficPolicies, 'backend')
export const frontendPolicyFields = fieldsFor(frontendPolicies, 'frontend')
export const tcpRoutePolicyFields = {
  backendTLS: backendPolicyFields.backendTLS,
  backendTunnel: backendPolicyFields.backendTunnel,
}
/** Policies attached by reference may be route or backend policies. */
export const targetedPolicyFields = { ...backendPolicyFields, ...routePolicyFields }

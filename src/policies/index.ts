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

/** The order in which policies see a request; those of a backend follow within each call. */
export const trafficPolicies = [
  refusalDetails, // hears of every refusal below
  timeout, // its deadline runs from the start of the request
  cors, // a preflight carries no credentials and must pass before anything asks for them
  oidc, // a browser without a session is sent to sign in, whatever token it lacks
  jwtAuth, // claims are there for everything below
  mcpAuthentication, // the same, for MCP clients
  basicAuth, // the user name is there for everything below
  apiKey, // the key's metadata is there for everything below
  extAuthz, // the service sees verified claims
  authorization, // rules may use what the service has returned
  retry, // its precondition sees the request as authorized
  localRateLimit, // refused requests take no tokens; the cheap limit comes before the one that calls out
  remoteRateLimit, // descriptors may use claims
  buffer, // whatever reads the body below finds it whole
  extProc, // sees the client's request before anything here rewrites it
  transformations, // may use what the services above have returned
  csrf, // judges what the client sent, so its place among the rewriting ones says nothing
  requestHeaderModifier, // fixed values win over computed ones
  responseHeaderModifier, // has nothing to say about requests; its name keeps the two together
  urlRewrite, // prefixes are replaced in the path that matched
  requestRedirect, // its location is built from the rewritten request
  delay, // only requests that passed are held up
  directResponse, // the last word: no backend is asked
  requestMirror, // copies carry what the backend gets
  http, // how the backend is reached: settings only, so their order among themselves says nothing
  tcp, // likewise
  backendTLS, // likewise
  backendTunnel, // likewise
  inferenceRouting, // the endpoint is picked
  sessionAffinity, // or kept
  health, // and may be left out
  mcpAuthorization, // asked by the MCP backend for each item
  mcpGuardrails, // asked by the MCP backend for each message
  ai, // asked by the LLM backend for each request
  guardrails, // likewise, for the models of the `llm` section
  a2a, // sees requests and cards as the agent does
  backendAuth, // last: nothing may read or change the credential after it is written
] as const

export const policyNamed: ReadonlyMap<string, AnyPolicy> = new Map(trafficPolicies.map(policy => [policy.name, policy]))

/** Names, in the order in which policies see a response; those not named have nothing to say. */
export const responseOrder: readonly string[] = [
  'responseHeaderModifier', // fixed values first, so that expressions see them
  'buffer', // expressions below read the body whole
  'transformations', // may rewrite any reply, also one made here
  'extProc', // sees the reply as the client would
  'ai', // the reply is translated by the backend already; guards came with it
  'refusalDetails', // the last word on a refusal
]

export const frontendPolicies = [
  frontendHttp,
  frontendTls,
  frontendTcp,
  proxyProtocol, // the client's address is known before anything asks for it
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
/** A policy that is attached by reference may be any of a route or a backend. */
export const targetedPolicyFields = { ...backendPolicyFields, ...routePolicyFields }

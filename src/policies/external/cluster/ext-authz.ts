import {
  type CelScope,
  cel,
  def,
  integer,
  list,
  type Fields as Members,
  map,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  req,
  serverRule,
  string,
} from '../../../schema/builder.ts'
import { endpoint, hasPath } from '../../../schema/resource-references.ts'
import { byteQuantity } from '../../../schema/resource-scalars.ts'
import { conditional } from '../../../schema/resource-variants.ts'
import { problem } from '../../../schema/rules.ts'
import { shortString } from '../../../schema/scalars.ts'
import { asFields, type Fields } from '../../../schema/untyped.ts'
import {
  bytesOf,
  type ClusterContext,
  type ClusterForm,
  copied,
  defined,
  durationOrCel,
  type Policies,
  strings,
  variants,
} from '../../parts/cluster-form.ts'
import { headerExpressions } from '../../parts/header-expressions.ts'

const expressions = (scope: CelScope) => map(cel(scope, 'any'), { max: 64 })
const headerNames = list(shortString, { max: 64 })

const grpc = object('gRPC authorization', {
  contextExtensions: opt(map(string(), { max: 64 }), 'Values sent with each check.'),
  requestMetadata: opt(expressions('request'), 'Filter metadata: name to expression.'),
})
const http = object('HTTP authorization', {
  path: opt(cel('request', 'string'), 'Path of the check; the request’s own path when unset.'),
  redirect: opt(cel('request', 'string'), 'Where refused clients are redirected.'),
  body: opt(cel('request', 'any'), 'Body of the check.'),
  allowedRequestHeaders: opt(headerNames, 'Header fields to send; `Authorization` when unset.'),
  addRequestHeaders: opt(headerExpressions('request', 'any'), 'Header fields of the check: name to expression.'),
  allowedResponseHeaders: opt(headerNames, 'Header fields of the response to forward to the backend.'),
  responseMetadata: opt(expressions('response'), 'Variables under `extauthz`: name to expression over the response.'),
})
const cache = object('authorization cache', {
  key: req(
    list(cel('request', 'any'), { min: 1, max: 16 }),
    'Parts of the cache key; they must cover everything that the decision depends on.',
  ),
  ttl: req(cel('response', 'duration'), 'How long a decision is cached: a duration, or a time.'),
  maxEntries: def(integer(1), 10000, 'Decisions kept.'),
})

const authorizer = endpoint({ urlPath: true, what: 'The authorization service' })
const extAuthFields: Members = {
  ...authorizer.fields,
  failureMode: def(oneOf(['FailClosed', 'FailOpen']), 'FailClosed', 'What happens when the service is unavailable.'),
  grpc: opt(grpc, 'Calls the service over gRPC.'),
  http: opt(http, 'Calls the service over HTTP; 200 allows.'),
  forwardBody: opt(
    object('forwarded body', { maxSize: req(byteQuantity, 'Larger bodies are refused.') }),
    'Also sends the request body.',
  ),
  cache: opt(cache, 'Keeps decisions.'),
}

function extAuthRules(value: Record<string, unknown>): readonly ObjectProblem[] {
  const byHttp = value.http as Record<string, unknown> | undefined
  const problems: ObjectProblem[] = []
  if (value.forwardBody && byHttp?.body !== undefined) {
    problems.push(problem(['http', 'body'], '`forwardBody` and `http.body` both set the body of the check'))
  }
  if (hasPath(value.url) && !byHttp) {
    problems.push(problem(['url'], 'a URL with a path goes only with `http`', { at: 'value' }))
  }
  if (hasPath(value.url) && byHttp?.path !== undefined) {
    problems.push(problem(['http', 'path'], '`http.path` cannot be combined with a URL with a path'))
  }
  return problems
}

const EXT_AUTH_RULES = [
  serverRule(
    '!has(self.forwardBody) || !has(self.http) || !has(self.http.body)',
    'forwardBody and http.body both set the body of the check',
  ),
  serverRule(
    "!has(self.url) || has(self.http) || !self.url.matches('^https?://[^/]+/')",
    'a url with a path goes only with http',
  ),
  serverRule(
    "!has(self.url) || !has(self.http) || !has(self.http.path) || !self.url.matches('^https?://[^/]+/')",
    'http.path cannot be combined with a url with a path',
  ),
]
const extAuth = conditional('external authorization', extAuthFields, {
  exactlyOneOf: [authorizer.group, ['grpc', 'http']],
  check: extAuthRules,
  rules: EXT_AUTH_RULES,
})
/** On a backend the protocol is optional and defaults to gRPC. */
const backendExtAuth = object('external authorization', extAuthFields, {
  exactlyOneOf: [authorizer.group],
  atMostOneOf: [['grpc', 'http']],
  check: extAuthRules,
  rules: EXT_AUTH_RULES,
})

export const extAuthzInCluster: readonly ClusterForm[] = [
  {
    section: 'traffic',
    member: 'extAuth',
    field: opt(extAuth, 'A service that authorizes each request.'),
    convert,
  },
  {
    section: 'backend',
    member: 'extAuth',
    field: opt(backendExtAuth, 'A service that authorizes each request to the backend.'),
    convert,
  },
]

function convert(part: Fields, ctx: ClusterContext): Policies | undefined {
  return variants(part, plain => convertPlain(plain, ctx))
}

function convertPlain(part: Fields, ctx: ClusterContext): Policies | undefined {
  const target = ctx.target(part, 'failed to build extAuth')
  const http = asFields(part.http)
  const grpc = asFields(part.grpc)
  const body = asFields(part.forwardBody)
  const cache = asFields(part.cache)
  const urlPath = ctx.urlPath(part)
  const out = {
    ...target,
    protocol: http ? { http: httpCheck(http, urlPath) } : { grpc: grpcCheck(grpc) },
    failureMode: part.failureMode === 'FailOpen' ? 'allow' : 'deny',
    includeRequestHeaders: http && strings(http.allowedRequestHeaders),
    includeRequestBody: body && { maxRequestBytes: bytesOf(body.maxSize) ?? 8192 },
    cache: cache && defined({ key: strings(cache.key), ttl: durationOrCel(cache.ttl), maxEntries: cache.maxEntries }),
  }
  return target && defined(out)
}

function httpCheck(http: Fields, urlPath: string | undefined): Policies {
  return defined({
    path: http.path ?? (urlPath === undefined ? undefined : JSON.stringify(urlPath)),
    redirect: http.redirect,
    body: http.body,
    includeResponseHeaders: strings(http.allowedResponseHeaders),
    addRequestHeaders: copied(http.addRequestHeaders),
    metadata: copied(http.responseMetadata),
  })
}

function grpcCheck(grpc: Fields | undefined): Policies {
  return defined({
    context: copied(grpc?.contextExtensions),
    metadata: copied(grpc?.requestMetadata),
  })
}

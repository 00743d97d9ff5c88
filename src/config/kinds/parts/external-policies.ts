import {
  boolean,
  type CelScope,
  cel,
  def,
  type Fields,
  integer,
  list,
  map,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  req,
  serverRule,
  string,
} from '../../../schema/builder.ts'
import { byteQuantity } from '../../../schema/resource-scalars.ts'
import { shortString, tinyString } from '../../../schema/scalars.ts'
import { problem } from '../resource.ts'
import { conditional } from './conditional.ts'
import { endpoint, hasPath } from './object-references.ts'

const failureMode = def(
  oneOf(['FailClosed', 'FailOpen']),
  'FailClosed',
  'What happens when the service cannot be asked.',
)
const expressions = (scope: CelScope) => map(cel(scope, 'any'), { max: 64 })
const headerNames = list(shortString, { max: 64 })

const grpc = object('gRPC authorization', {
  contextExtensions: opt(map(string(), { max: 64 }), 'Values sent with each check.'),
  requestMetadata: opt(expressions('request'), 'Filter metadata: name to expression.'),
})
const http = object('HTTP authorization', {
  path: opt(cel('request', 'string'), 'Path of the check; the request’s own path when unset.'),
  redirect: opt(cel('request', 'string'), 'Where a client is sent that the service refused.'),
  body: opt(cel('request', 'any'), 'Body of the check.'),
  allowedRequestHeaders: opt(headerNames, 'Header fields sent along; `Authorization` when unset.'),
  addRequestHeaders: opt(expressions('request'), 'Header fields of the check: name to expression.'),
  allowedResponseHeaders: opt(headerNames, 'Header fields of the answer that go to the backend.'),
  responseMetadata: opt(expressions('response'), 'Variables under `extauthz`: name to expression over the answer.'),
})
const cache = object('authorization cache', {
  key: req(
    list(cel('request', 'any'), { min: 1, max: 16 }),
    'Parts of the key; they must cover all that the service decides on.',
  ),
  ttl: req(cel('response', 'duration'), 'How long a decision is kept: a duration, or a time.'),
  maxEntries: def(integer(1), 10000, 'Decisions kept.'),
})

const authorizer = endpoint({ urlPath: true, what: 'The authorization service' })
const extAuthFields: Fields = {
  ...authorizer.fields,
  failureMode,
  grpc: opt(grpc, 'Asks over gRPC.'),
  http: opt(http, 'Asks over HTTP; 200 allows.'),
  forwardBody: opt(
    object('forwarded body', { maxSize: req(byteQuantity, 'Larger bodies are refused.') }),
    'Sends the request body along.',
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
    problems.push(problem(['http', 'path'], '`http.path` cannot stand beside a URL with a path'))
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
    'http.path cannot stand beside a url with a path',
  ),
]
export const extAuth = conditional('external authorization', extAuthFields, {
  exactlyOneOf: [authorizer.group, ['grpc', 'http']],
  check: extAuthRules,
  rules: EXT_AUTH_RULES,
})
/** On a backend the protocol may be left out: gRPC. */
export const backendExtAuth = object('external authorization', extAuthFields, {
  exactlyOneOf: [authorizer.group],
  atMostOneOf: [['grpc', 'http']],
  check: extAuthRules,
  rules: EXT_AUTH_RULES,
})

const send = (what: string) => def(oneOf(['Send', 'Skip']), 'Send', `Whether the ${what} is sent.`)
const bodyMode = (what: string) =>
  def(
    oneOf(['None', 'Buffered', 'BufferedPartial', 'FullDuplexStreamed']),
    'FullDuplexStreamed',
    `How the ${what} body is sent.`,
  )
const processingOptions = object('processing options', {
  requestHeaderMode: send('request header'),
  responseHeaderMode: send('response header'),
  requestTrailerMode: send('request trailer'),
  responseTrailerMode: send('response trailer'),
  requestBodyMode: bodyMode('request'),
  responseBodyMode: bodyMode('response'),
  allowModeOverride: def(boolean, false, 'Lets the service change these modes.'),
})
const processorService = endpoint({ urlPath: false, what: 'The processing service' })
export const extProc = conditional(
  'external processing',
  {
    ...processorService.fields,
    failureMode,
    processingOptions: opt(processingOptions, 'Which parts of the exchange are sent.'),
    metadataContext: opt(map(map(cel('request', 'any')), { max: 64 }), 'Metadata by namespace: name to expression.'),
    requestAttributes: opt(expressions('request'), 'Attributes of the request: name to expression.'),
    responseAttributes: opt(expressions('response'), 'Attributes of the response: name to expression.'),
  },
  { exactlyOneOf: [processorService.group] },
)

const localLimit = object(
  'local rate limit',
  {
    requests: opt(integer(1), 'Requests per unit.'),
    tokens: opt(integer(1), 'LLM tokens per unit.'),
    unit: req(oneOf(['Seconds', 'Minutes', 'Hours']), 'The window.'),
    burst: opt(integer(0, 2_147_483_647), 'Allowance above the rate for a short time.'),
  },
  { exactlyOneOf: [['requests', 'tokens']] },
)
const descriptor = object('rate limit descriptor', {
  entries: req(
    list(
      object('descriptor entry', {
        name: req(tinyString, 'The name.'),
        expression: req(cel('request', 'any'), 'Gives the value.'),
      }),
      { min: 1, max: 16 },
    ),
    'What is counted together.',
  ),
  unit: def(oneOf(['Requests', 'Tokens']), 'Requests', 'What is counted.'),
  cost: opt(cel('usage', 'number'), 'Units that a request costs.'),
  limitOverride: opt(cel('request', 'map'), 'A limit in place of the service’s own.'),
})
const limiter = endpoint({ urlPath: false, what: 'The rate limit service' })
const globalLimit = object(
  'global rate limit',
  {
    ...limiter.fields,
    failureMode,
    domain: req(shortString, 'Keeps applications apart on the service.'),
    descriptors: req(list(descriptor, { min: 1, max: 16 }), 'What is counted.'),
  },
  { exactlyOneOf: [limiter.group] },
)
export const rateLimit = conditional(
  'rate limit',
  {
    local: opt(list(localLimit, { min: 1, max: 16 }), 'Limits of each replica; a request must pass all.'),
    global: opt(globalLimit, 'Limits shared through a rate limit service.'),
  },
  { atLeastOneOf: [['local', 'global']] },
)

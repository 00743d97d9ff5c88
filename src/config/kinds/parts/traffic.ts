import {
  cel,
  def,
  integer,
  list,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  req,
  serverRule,
  string,
} from '../../../schema/builder.ts'
import { byteQuantity, plainHeaderName, resourceDuration, set } from '../../../schema/resource-scalars.ts'
import { statusCode } from '../../../schema/scalars.ts'
import { problem } from '../resource.ts'
import { authorization, headerModifiers, transformationFields } from './backend-sections.ts'
import { conditional } from './conditional.ts'
import { corsFields, corsRules, corsServerRules } from './cors.ts'
import { extAuth, extProc, rateLimit } from './external-policies.ts'
import { apiKeyAuthentication, basicAuthentication, jwtAuthentication } from './inbound-auth.ts'

const timeouts = object(
  'timeouts',
  { request: opt(resourceDuration(1), 'From sending to the backend until the whole response is there.') },
  { atLeastOneOf: [['request']] },
)
const retry = object('retry', {
  attempts: opt(integer(1), 'Further calls after the first.'),
  backoff: opt(resourceDuration(), 'Pause before a further call.'),
  codes: opt(set(integer(400, 599)), 'Statuses after which the call is repeated.'),
  precondition: opt(cel('request', 'bool'), 'Repeats only when this holds for the request.'),
  condition: opt(cel('response', 'bool'), 'Repeats when this holds for the response.'),
})
const csrf = object('CSRF', {
  additionalOrigins: opt(
    list(
      string({
        min: 1,
        max: 256,
        pattern: /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#@\s]+$/,
        form: 'an origin: `scheme://host` with a port if needed',
      }),
      { min: 1, max: 16 },
    ),
    'Origins allowed besides the destination’s own.',
  ),
})
const buffered = object('body buffer', {
  maxBytes: opt(byteQuantity, 'The largest body; the proxy’s own setting, 2Mi, when unset.'),
  failureMode: def(oneOf(['FailClosed', 'FailOpen']), 'FailClosed', 'What happens to a larger body.'),
})
const buffer = object(
  'buffer',
  { request: opt(buffered, 'Request bodies.'), response: opt(buffered, 'Response bodies.') },
  { atLeastOneOf: [['request', 'response']] },
)
const responseHeader = object('response header', {
  name: req(plainHeaderName, 'The name of the header field.'),
  value: req(cel('request', 'any'), 'Its value.'),
})
const directResponse = conditional(
  'direct response',
  {
    status: req(statusCode(), 'The status.'),
    body: opt(string({ min: 1, max: 4096 }), 'The body.'),
    bodyExpression: opt(cel('request', 'any'), 'The body: text and bytes as they are, other values as JSON.'),
    headers: opt(list(responseHeader, { min: 1, max: 16, unique: ['name'] }), 'Header fields.'),
  },
  { atMostOneOf: [['body', 'bodyExpression']] },
)

/** What may stand in the PreRouting phase. */
const PRE_ROUTING = [
  'phase',
  'extAuth',
  'authorization',
  'transformation',
  'extProc',
  'jwtAuthentication',
  'basicAuthentication',
  'apiKeyAuthentication',
  'cors',
]
function phaseRules(value: Record<string, unknown>): readonly ObjectProblem[] {
  if (value.phase !== 'PreRouting') return []
  return Object.keys(value)
    .filter(name => !PRE_ROUTING.includes(name))
    .map(name => problem([name], `\`${name}\` cannot stand in the PreRouting phase: no route is chosen yet`))
}

const fields = {
  phase: def(oneOf(['PreRouting', 'PostRouting']), 'PostRouting', 'Before or after the route is chosen.'),
  transformation: opt(
    conditional('transformation', transformationFields, { atLeastOneOf: [['request', 'response']] }),
    'Changes to requests and responses.',
  ),
  extProc: opt(extProc, 'A service that processes requests and responses.'),
  extAuth: opt(extAuth, 'A service that decides about each request.'),
  rateLimit: opt(rateLimit, 'Limits on requests or LLM tokens.'),
  timeouts: opt(timeouts, 'How long a request may take.'),
  retry: opt(retry, 'Repeats failed calls.'),
  cors: opt(
    object('CORS', corsFields, { check: corsRules, rules: corsServerRules }),
    'Which origins may read replies.',
  ),
  csrf: opt(csrf, 'Refuses requests that other sites caused.'),
  headerModifiers: opt(headerModifiers, 'Changes to header fields.'),
  hostRewrite: opt(
    object('host rewrite', { mode: req(oneOf(['Auto', 'None']), 'Whether the backend’s host name is sent.') }),
    'Which host name the backend sees.',
  ),
  authorization: opt(authorization('request'), 'Decides by expressions who may pass.'),
  delay: opt(
    object('delay', { duration: req(cel('request', 'duration'), 'How long the request waits.') }),
    'Makes requests wait, to test for faults.',
  ),
  buffer: opt(buffer, 'Takes in whole bodies.'),
  directResponse: opt(directResponse, 'Answers without a backend.'),
  jwtAuthentication: opt(jwtAuthentication, 'Verifies JSON Web Tokens.'),
  basicAuthentication: opt(basicAuthentication, 'Verifies user names and passwords.'),
  apiKeyAuthentication: opt(apiKeyAuthentication, 'Verifies API keys.'),
}
/** How requests are processed. */
export const traffic = object('traffic', fields, {
  check: phaseRules,
  rules: [
    serverRule(
      `self.phase != 'PreRouting' || !(${Object.keys(fields)
        .filter(name => !PRE_ROUTING.includes(name))
        .map(name => `has(self.${name})`)
        .join(' || ')})`,
      `the PreRouting phase takes only ${PRE_ROUTING.slice(1).join(', ')}`,
    ),
  ],
})

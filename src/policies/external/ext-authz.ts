// Asks an authorization service about each request (specification, "Inbound: external authorization").

import { boolean, cel, def, integer, list, map, object, oneOf, opt, req, shapes, string } from '../../schema/builder.ts'
import { headerName } from '../../schema/scalars.ts'
import { conditional, fallbackComesLast } from '../parts/conditional.ts'
import { definePolicy } from '../policy.ts'
import { TARGET_KINDS, targetFields, targetPoliciesField } from '../upstream/policy-target.ts'
import { extAuthzInCluster } from './cluster/ext-authz.ts'

const headerNames = list(headerName, { max: 64 })
const expressions = map(cel('request', 'any'), { max: 64 })

const grpc = object('gRPC protocol', {
  context: opt(map(string(), { max: 64 }), 'Context extensions sent with each check.'),
  metadata: opt(expressions, 'Filter metadata: name to expression.'),
})
const http = object('HTTP protocol', {
  path: opt(cel('request', 'string'), 'Path of the check; the request’s own path when unset.'),
  redirect: opt(
    cel('request', 'string'),
    'Where a client is sent that the service refused, a sign-in page for example.',
  ),
  body: opt(cel('request', 'any'), 'Body of the check.'),
  includeResponseHeaders: opt(headerNames, 'Header fields of the answer that go to the backend.'),
  addRequestHeaders: opt(map(cel('request', 'string'), { max: 64 }), 'Header fields of the check: name to expression.'),
  metadata: opt(
    map(cel('response', 'any'), { max: 64 }),
    'Variables under `extauthz`: name to expression over the answer.',
  ),
})

const fields = {
  ...targetFields,
  policies: targetPoliciesField,
  protocol: def(
    object(
      'authorization protocol',
      { grpc: opt(grpc, 'Envoy’s gRPC protocol.'), http: opt(http, 'A plain HTTP request; 200 allows.') },
      { exactlyOneOf: [['grpc', 'http']] },
    ),
    { grpc: {} },
    'How the service is asked.',
  ),
  failureMode: def(
    shapes({
      string: oneOf(['deny', 'allow'], {
        failClosed: 'deny',
        FailClosed: 'deny',
        failOpen: 'allow',
        FailOpen: 'allow',
      }),
      object: object('failure mode', { denyWithStatus: req(integer(100, 599), 'Status of the refusal.') }),
    }),
    'deny',
    'What happens when the service cannot be asked.',
  ),
  includeRequestHeaders: opt(
    headerNames,
    'Header fields sent to the service; `Authorization` over HTTP, all over gRPC, when unset.',
  ),
  includeRequestBody: opt(
    object('included body', {
      maxRequestBytes: def(integer(0), 0, 'Largest body that is sent, in bytes.'),
      allowPartialMessage: def(boolean, false, 'A larger body is cut instead of refused.'),
      packAsBytes: def(boolean, false, 'gRPC: the body travels as bytes instead of text.'),
    }),
    'Sends the request body along.',
  ),
  cache: opt(
    object('authorization cache', {
      key: req(
        list(cel('request', 'any'), { min: 1, max: 16 }),
        'Parts of the key; they must cover all that the service decides on.',
      ),
      ttl: req(cel('response', 'any'), 'How long a decision is kept: a duration, or a time.'),
      maxEntries: def(integer(1), 10000, 'Decisions kept.'),
    }),
    'Keeps decisions.',
  ),
}
const NAME = 'external authorization'

export const extAuthz = definePolicy({
  name: 'extAuthz',
  doc: 'An authorization service decides about each request.',
  spec: 'Inbound: external authorization',
  attach: ['listener', 'route', 'backend'],
  cluster: extAuthzInCluster,
  asksFor: 'anything',
  guards: true,
  unserved:
    'The authorization service is not asked yet: every request would pass. Put the decision into `authorization` or keep the check at the backend.',
  schema: object(
    NAME,
    { ...fields, conditional: conditional(NAME, fields, { exactlyOneOf: [TARGET_KINDS] }) },
    { exactlyOneOf: [[...TARGET_KINDS, 'conditional']], check: fallbackComesLast },
  ),
  compile: () => ({}),
})

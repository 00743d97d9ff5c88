// Lets an external service read and change requests and responses (specification, `extProc`).

import type { Callee } from '../../calls/outcall.ts'
import type { Expression } from '../../cel/expression.ts'
import { boolean, cel, def, map, type ObjectOf, object, oneOf, opt } from '../../schema/builder.ts'
import { compileAsking } from '../parts/asking.ts'
import { conditional, fallbackComesLast } from '../parts/conditional.ts'
import { processedBy } from '../parts/ext-proc/processed-by.ts'
import type { ProcessingRules } from '../parts/ext-proc/processing.ts'
import { bodiesFor } from '../parts/request-body.ts'
import { type CompileContext, definePolicy, type Hooks } from '../policy.ts'
import { TARGET_KINDS, targetFields, targetPoliciesField } from '../upstream/policy-target.ts'
import { extProcInCluster } from './cluster/ext-proc.ts'

const bodyMode = oneOf(['none', 'buffered', 'bufferedPartial', 'fullDuplexStreamed'])
const sendMode = oneOf(['send', 'skip'])

const fields = {
  ...targetFields,
  policies: targetPoliciesField,
  failureMode: def(
    oneOf(['failClosed', 'failOpen'], { FailClosed: 'failClosed', FailOpen: 'failOpen' }),
    'failClosed',
    'What happens when the service is unavailable.',
  ),
  metadataContext: opt(map(map(cel('request', 'any'))), 'Metadata by namespace: name to expression.'),
  requestAttributes: opt(map(cel('request', 'any'), { max: 64 }), 'Attributes of the request: name to expression.'),
  responseAttributes: opt(map(cel('response', 'any'), { max: 64 }), 'Attributes of the response: name to expression.'),
  processingOptions: opt(
    object('processing options', {
      requestBodyMode: def(bodyMode, 'fullDuplexStreamed', 'How much of the request body the service sees.'),
      responseBodyMode: def(bodyMode, 'fullDuplexStreamed', 'How much of the response body the service sees.'),
      requestHeaderMode: def(sendMode, 'send', 'Whether it sees the request head.'),
      responseHeaderMode: def(sendMode, 'send', 'Whether it sees the response head.'),
      requestTrailerMode: def(
        sendMode,
        'send',
        'Whether it sees, and may change, the trailers of a request. Others are not forwarded.',
      ),
      responseTrailerMode: def(
        sendMode,
        'send',
        'Whether it sees the trailers of a response body that it gets as a stream.',
      ),
      allowModeOverride: def(boolean, false, 'The service may change these modes itself.'),
    }),
    'What the service sees.',
  ),
}
const NAME = 'external processing'

export const extProc = definePolicy({
  name: 'extProc',
  doc: 'Lets another service read and change requests and responses.',
  attach: ['listener', 'route'],
  cluster: extProcInCluster,
  guards: true,
  schema: object(
    NAME,
    { ...fields, conditional: conditional(NAME, fields, { exactlyOneOf: [TARGET_KINDS] }) },
    { exactlyOneOf: [[...TARGET_KINDS, 'conditional']], check: fallbackComesLast },
  ),
  compile: (spec, ctx) => compileAsking(spec, ctx, 'extProc', (entry, callee) => hooksOf(entry, callee, ctx)),
})

type Spec = ObjectOf<typeof fields>

/** Maximum bytes of a body sent as one message (specification, `extProc`). */
const BUFFERED_LIMIT = 8192

function hooksOf(spec: Spec, callee: Callee, ctx: CompileContext): Hooks {
  const rules = rulesOf(spec, callee)
  const { buffersRequest } = bodiesFor(expressionsOf(rules), ctx.limits)
  return {
    ...processedBy(rules, spec.failureMode === 'failOpen', ctx),
    holdsRequest: BUFFERED_LIMIT,
    ...(buffersRequest === undefined ? {} : { buffersRequest }),
    ...(rules.modes.responseBody === 'buffered' ? { buffersResponse: { limit: BUFFERED_LIMIT, failOpen: false } } : {}),
  }
}

function rulesOf(spec: Spec, callee: Callee): ProcessingRules {
  const { metadataContext = {}, requestAttributes = {}, responseAttributes = {}, processingOptions } = spec
  const { requestHeaderMode, responseHeaderMode, requestBodyMode, responseBodyMode } = processingOptions ?? {}
  const { requestTrailerMode, responseTrailerMode, allowModeOverride = false } = processingOptions ?? {}
  return {
    callee,
    allowModeOverride,
    metadataContext,
    requestAttributes,
    responseAttributes,
    modes: {
      requestHeaders: requestHeaderMode !== 'skip',
      responseHeaders: responseHeaderMode !== 'skip',
      requestBody: requestBodyMode ?? 'fullDuplexStreamed',
      responseBody: responseBodyMode ?? 'fullDuplexStreamed',
      requestTrailers: requestTrailerMode !== 'skip',
      responseTrailers: responseTrailerMode !== 'skip',
    },
  }
}

function expressionsOf({ metadataContext, requestAttributes, responseAttributes }: ProcessingRules): Expression[] {
  return [...Object.values(metadataContext), requestAttributes, responseAttributes].flatMap(each => Object.values(each))
}

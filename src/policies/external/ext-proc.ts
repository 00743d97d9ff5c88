// Lets another service read and change requests and responses (specification, `extProc`).

import { boolean, cel, def, map, object, oneOf, opt } from '../../schema/builder.ts'
import { conditional, fallbackComesLast } from '../parts/conditional.ts'
import { definePolicy } from '../policy.ts'
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
    'What happens when the service cannot be asked.',
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
      requestTrailerMode: def(sendMode, 'send', 'Whether it sees the request trailers.'),
      responseTrailerMode: def(sendMode, 'send', 'Whether it sees the response trailers.'),
      allowModeOverride: def(boolean, false, 'The service may change these modes itself.'),
    }),
    'What the service sees.',
  ),
}
const NAME = 'external processing'

export const extProc = definePolicy({
  name: 'extProc',
  doc: 'Another service reads and changes requests and responses.',
  attach: ['listener', 'route'],
  cluster: extProcInCluster,
  guards: true,
  unserved:
    'The processing service is not called yet: requests and responses would pass unchanged. Use `transformations` where they suffice.',
  schema: object(
    NAME,
    { ...fields, conditional: conditional(NAME, fields, { exactlyOneOf: [TARGET_KINDS] }) },
    { exactlyOneOf: [[...TARGET_KINDS, 'conditional']], check: fallbackComesLast },
  ),
  compile: () => ({}),
})
